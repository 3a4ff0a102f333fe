// The import rules: which part of the code may import which, and why. The checker reads this table, and
// docs/contribute/import-rules.md is generated from it.

/** "offline": every node: module except the network ones. */
export type NodeAccess = "none" | "offline" | "all";

export type Room = {
  name: string;
  /** Matches the paths of the files that belong to this part. */
  owns: RegExp;
  holds: string;
  /** Other parts it may import. */
  rooms: readonly string[];
  /** npm packages it may import. */
  packages: readonly string[];
  node: NodeAccess;
  /** The reason for the rule; printed with every violation. */
  why: string;
};

/** Packages that the browser bundle may contain. */
const BROWSER_PACKAGES: readonly string[] = [
  "@fontsource-variable/inter",
  "@simplewebauthn/browser",
  "@tanstack/react-query",
  "@tanstack/react-virtual",
  "radix-ui",
  "react",
  "react-dom",
  "tinykeys",
  "wouter",
];

const INWARD = [
  "core",
  "lib",
  "contract/api",
  "contract",
  "store",
  "intake",
  "channels",
  "operations",
] as const;

/** From the innermost part outward. */
export const ROOMS: readonly Room[] = [
  {
    name: "core",
    owns: /^src\/core\//,
    holds: "domain rules as pure functions",
    rooms: [],
    packages: [],
    node: "none",
    why: "Pure functions are easy to test, and months can be simulated in seconds. Time, hashes and rows are arguments.",
  },
  {
    name: "lib",
    owns: /^src\/lib\//,
    holds: "general-purpose code without domain concepts",
    rooms: [],
    packages: [
      "aws4fetch",
      "ipaddr.js",
      "nodemailer",
      "otpauth",
      "pino",
      "postal-mime",
      "prom-client",
      "undici",
      "@platformatic/kafka",
      "uqr",
    ],
    node: "all",
    why: "Code that refers to checks or pings belongs in a domain folder.",
  },
  {
    name: "contract/api",
    owns: /^src\/contract\/api\//,
    holds: "the Overdue API: routes and schemas, shared by the server, the client, and the browser",
    rooms: ["core", "contract"],
    packages: ["typebox"],
    node: "none",
    why: "This is the only part of the contract that the browser bundle may use.",
  },
  {
    name: "contract",
    owns: /^src\/contract\//,
    holds: "the public APIs: schemas, versions, URLs, and the OpenAPI documents",
    rooms: ["core", "contract/api"],
    packages: ["typebox"],
    node: "none",
    why: "The contract describes requests and responses. It is independent of the database and of the HTTP server.",
  },
  {
    name: "store",
    owns: /^src\/store\//,
    holds: "all SQL",
    rooms: ["core", "lib"],
    packages: ["pg", "node-pg-migrate"],
    node: "offline",
    why: "The store converts rows to domain values. Only the store sees rows, and it does not produce JSON.",
  },
  {
    name: "import",
    owns: /^src\/import\//,
    holds: "reading other products, by their database or their API",
    rooms: ["core", "lib", "store"],
    packages: ["mysql2"],
    node: "all",
    why: "A reader only reads. It uses the store to connect to PostgreSQL, because TLS is handled there; it never uses our own tables.",
  },
  {
    name: "intake",
    owns: /^src\/intake\//,
    holds: "making received pings durable",
    rooms: ["core", "lib"],
    packages: [],
    node: "offline",
    why: "The intake gets the function that records pings as an argument, so it can be replaced by a log in front of the database.",
  },
  {
    name: "channels",
    owns: /^src\/channels\//,
    holds: "how messages are sent",
    rooms: ["core", "lib"],
    packages: ["aws4fetch", "typebox"],
    node: "all",
    why: "A channel sends a finished message. If it looked anything up, a retry could send something else.",
  },
  {
    name: "operations",
    owns: /^src\/operations\//,
    holds: "use cases; only they open transactions",
    rooms: ["core", "lib", "store"],
    packages: [],
    node: "offline",
    why: "An operation holds locks, so it must not wait for the network. It returns values, not JSON.",
  },
  {
    name: "services/ping",
    owns: /^src\/services\/ping(\/|\.)/,
    holds: "the ping endpoint",
    rooms: INWARD.filter((room) => !room.startsWith("contract") && room !== "channels"),
    packages: [],
    node: "all",
    why: "This is the hot path. Pings need neither the API schemas nor the channels.",
  },
  {
    name: "services/api",
    owns: /^src\/services\/api\//,
    holds: "the Overdue API, and the authentication that both APIs use",
    rooms: INWARD,
    packages: ["fastify"],
    node: "all",
    why: "Other services may use it, and it uses none of them: the dashboard shows the same JSON, and the Management API runs in the same server.",
  },
  {
    name: "services/*",
    owns: /^src\/services\//,
    holds: "protocol handlers: decode the request, call an operation, encode the response",
    rooms: [...INWARD, "services/api"],
    packages: [
      "@simplewebauthn/server",
      "fastify",
      "htmlparser2",
      "openid-client",
      "postal-mime",
      "smtp-server",
    ],
    node: "all",
    why: "Services do not import each other except services/api, contain no SQL and get their settings as arguments, so each can run in a separate process.",
  },
  {
    name: "client",
    owns: /^src\/client\//,
    holds: "the typed API client",
    rooms: ["contract", "contract/api"],
    packages: [],
    node: "none",
    why: "The client depends on the public contract only, so it can become a separate package.",
  },
  {
    name: "config",
    owns: /^src\/config(\/|\.)/,
    holds: "settings; the only code that reads the environment",
    rooms: ["core", "lib"],
    packages: [],
    node: "offline",
    why: "Settings are read once at startup and passed as values.",
  },
  {
    name: "discover",
    owns: /^src\/discover\//,
    holds: "finding the jobs of a machine, and changing its files",
    rooms: ["core", "lib"],
    packages: [],
    node: "offline",
    why: "It changes crontabs and units and takes that back, without a server. The command creates the checks.",
  },
  {
    name: "cli",
    owns: /^src\/cli\//,
    holds: "the command line",
    rooms: [...INWARD, "client", "config", "import", "discover"],
    packages: ["commander"],
    node: "all",
    why: "Commands call operations, as services do. main.ts passes in the function that starts servers.",
  },
  {
    name: "roles",
    owns: /^src\/roles(\/|\.)/,
    holds: "the list of roles, and how each is assembled",
    rooms: [...INWARD, "services/ping", "services/api", "services/*", "config"],
    packages: [],
    node: "all",
    why: "If two services need each other, a role passes a function of one to the other.",
  },
  {
    name: "exec",
    owns: /^src\/exec\//,
    holds: "running a job and reporting it: `overdue exec`, `overdue ping`, `overdue flush`",
    rooms: [],
    packages: [],
    node: "all",
    why: "A job must start as soon as Node does, on hosts without a server or its settings.",
  },
  {
    name: "main",
    owns: /^src\/(main|serve)\./,
    holds: "the entry point: arguments to running roles",
    rooms: [...INWARD, "config", "cli", "exec", "roles"],
    packages: [],
    node: "all",
    why: "The entry point decides what runs. It contains no protocol code.",
  },
  {
    name: "web build",
    owns: /^web\/vite\.config\.ts$/,
    holds: "the browser build",
    rooms: [],
    packages: ["@vitejs/plugin-react", "vite"],
    node: "all",
    why: "Development tools. They are not shipped.",
  },
  {
    name: "web",
    owns: /^web\//,
    holds: "the dashboard in the browser",
    rooms: ["contract/api", "client"],
    packages: BROWSER_PACKAGES,
    node: "none",
    why: "The browser contains no domain rules. It shows what the server returns and sends requests.",
  },
];

/** Exports that only these parts may import, wherever in the store they are declared. */
export const RESTRICTED_NAMES: Readonly<Record<string, readonly string[]>> = {
  inTransaction: ["store", "operations"],
  inBulkTransaction: ["store", "operations"],
};

/** Packages that unit tests may import in addition. */
export const TEST_PACKAGES: readonly string[] = ["vitest", "fast-check"];

/** The node: modules that access the network. */
export const NETWORK_MODULES: readonly string[] = [
  "dgram",
  "dns",
  "dns/promises",
  "http",
  "http2",
  "https",
  "net",
  "tls",
];

/** The part that a file of src or web belongs to, or undefined. */
export function roomOf(path: string): Room | undefined {
  return ROOMS.find((room) => room.owns.test(path));
}

/** The table as docs/contribute/import-rules.md shows it. */
export function renderImportTable(): string {
  const rows = ROOMS.map((room) => [
    code(room.name),
    room.holds,
    room.rooms.length === 0 ? "nothing" : room.rooms.map(code).join(", "),
    [...room.packages.map(code), ...renderNode(room.node)].join(", ") || "none",
    room.why,
  ]);
  const names = Object.entries(RESTRICTED_NAMES).map(
    ([name, parts]) => `Only ${parts.map(code).join(" and ")} may import ${code(name)}.`,
  );
  return [renderTable(["Part", "Contains", "May import", "Packages", "Reason"], rows), "", ...names].join(
    "\n",
  );
}

function renderNode(access: NodeAccess): string[] {
  if (access === "none") return [];
  return [access === "all" ? "`node:`" : "`node:` except network modules"];
}

function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function code(text: string): string {
  return `\`${text}\``;
}
