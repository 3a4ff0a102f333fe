// The import rule: which room may know which, and why. This table is the only place it is written down;
// the checker reads it, and ARCHITECTURE.md prints it. Inward only, and never sideways between services.

/** "offline" is everything in node: but the network. */
export type NodeAccess = "none" | "offline" | "all";

export type Room = {
  name: string;
  /** The files that belong to the room, by their path. */
  owns: RegExp;
  holds: string;
  /** Rooms it may import besides itself. */
  rooms: readonly string[];
  /** npm packages it may import. */
  packages: readonly string[];
  node: NodeAccess;
  /** Why the walls stand where they stand; printed with every violation. */
  why: string;
};

/** A file that fewer rooms may import than its room would allow; some may know its types and nothing else. */
export type Door = { path: string; openTo: readonly string[]; typesOpenTo: readonly string[]; why: string };

/** What may be built into the browser's part. */
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
  "contract/web",
  "contract",
  "store",
  "intake",
  "channels",
  "operations",
] as const;

/** In the order from the inside out. A room is listed before its folder exists, so that it is born walled. */
export const ROOMS: readonly Room[] = [
  {
    name: "core",
    owns: /^src\/core\//,
    holds: "the rules, pure",
    rooms: [],
    packages: [],
    node: "none",
    why: "The rules are pure: same arguments, same answer. Time, hashes and rows are handed in, so that a month can be simulated in a second.",
  },
  {
    name: "lib",
    owns: /^src\/lib\//,
    holds: "tools that know no domain word",
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
      "uqr",
    ],
    node: "all",
    why: "A tool that knows a check or a ping belongs to a room of the domain, not under all of them.",
  },
  {
    name: "contract/web",
    owns: /^src\/contract\/web\//,
    holds: "what the browser and the dashboard's server say to each other",
    rooms: ["core", "contract"],
    packages: ["typebox"],
    node: "none",
    why: "The browser knows this part of the contract and no other; what it says about checks it borrows from there.",
  },
  {
    name: "contract",
    owns: /^src\/contract\//,
    holds: "what outsiders see: schemas, versions, addresses",
    rooms: ["core"],
    packages: ["typebox"],
    node: "none",
    why: "The contract says what a request and an answer look like; it borrows its numbers from the rules and knows neither rows nor servers.",
  },
  {
    name: "store",
    owns: /^src\/store\//,
    holds: "all SQL",
    rooms: ["core", "lib"],
    packages: ["pg", "node-pg-migrate"],
    node: "offline",
    why: "Rows in, domain values out: a row must not know its JSON, and nobody but the store may know a row.",
  },
  {
    name: "intake",
    owns: /^src\/intake\//,
    holds: 'from "accepted" to "durable"',
    rooms: ["core", "lib"],
    packages: [],
    node: "offline",
    why: "Intake is handed the function that records signals, so that a log in front of the database can take its place.",
  },
  {
    name: "channels",
    owns: /^src\/channels\//,
    holds: "how one message leaves the house",
    rooms: ["core", "lib"],
    packages: ["typebox"],
    node: "all",
    why: "A channel carries a finished message; it must not look anything up, or a retry would send something else.",
  },
  {
    name: "operations",
    owns: /^src\/operations\//,
    holds: "the verbs; they alone open transactions",
    rooms: ["core", "lib", "store"],
    packages: [],
    node: "offline",
    why: "An operation holds locks: it may not wait for the network, and what it answers is not yet JSON.",
  },
  {
    name: "services/ping",
    owns: /^src\/services\/ping\//,
    holds: "the hot path",
    rooms: INWARD.filter((room) => !room.startsWith("contract") && room !== "channels"),
    packages: [],
    node: "all",
    why: "The hot path stays thin by rule: a ping needs neither the API's schemas nor the senders of alerts.",
  },
  {
    name: "services/*",
    owns: /^src\/services\/[^/]+\//,
    holds: "protocols: translate, call an operation, translate back",
    rooms: INWARD,
    packages: [
      "@simplewebauthn/server",
      "fastify",
      "htmlparser2",
      "openid-client",
      "postal-mime",
      "smtp-server",
    ],
    node: "all",
    why: "Services are strangers to each other, hold no SQL and are handed their settings, so that each can run in a process of its own.",
  },
  {
    name: "client",
    owns: /^src\/client\//,
    holds: "the typed API client",
    rooms: ["contract"],
    packages: [],
    node: "none",
    why: "The client knows what any outsider knows; it will be published by itself one day.",
  },
  {
    name: "config",
    owns: /^src\/config(\/[a-z-]+)?(\.test)?\.ts$/,
    holds: "the settings and the only reader of the environment",
    rooms: ["core", "lib"],
    packages: [],
    node: "offline",
    why: "Settings are read once, at the top, and passed on as values.",
  },
  {
    name: "cli",
    owns: /^src\/cli\//,
    holds: "the commands",
    rooms: [...INWARD, "client", "config"],
    packages: ["commander"],
    node: "all",
    why: "A command calls operations as a service does; what starts servers is handed to it by main.ts.",
  },
  {
    name: "roles",
    owns: /^src\/roles(\/[a-z-]+){0,2}(\.test)?\.ts$/,
    holds: "the only list of roles, and how each is put together",
    rooms: [...INWARD, "services/ping", "services/*", "config"],
    packages: [],
    node: "all",
    why: "What needs two strangers is joined here, by passing a function.",
  },
  {
    name: "main",
    owns: /^src\/main(\.test)?\.ts$/,
    holds: "argv to running roles",
    rooms: [...INWARD, "config", "cli", "roles"],
    packages: [],
    node: "all",
    why: "The way in: it decides what runs and knows no protocol.",
  },
  {
    name: "web/fixture",
    owns: /^web\/(vite\.config\.ts$|fixture\/)/,
    holds: "how the browser's part is built, and a server without a database to design pages with",
    rooms: ["contract/web"],
    packages: ["@vitejs/plugin-react", "vite"],
    node: "all",
    why: "Tools of the workshop: they run on a developer's machine and are part of nothing that is shipped.",
  },
  {
    name: "web",
    owns: /^web\//,
    holds: "the dashboard in the browser",
    rooms: ["contract/web"],
    packages: BROWSER_PACKAGES,
    node: "none",
    why: "No rule lives in the browser: it shows what the server said and asks for what the person wants.",
  },
];

export const DOORS: readonly Door[] = [
  {
    path: "src/store/transaction.ts",
    openTo: ["operations"],
    typesOpenTo: ["store"],
    why: "A statement that writes asks for a transaction, and only operations can open one, so that every write has one place where it can be read as a whole.",
  },
  {
    path: "src/config.ts",
    openTo: ["config", "main", "roles", "cli"],
    typesOpenTo: [],
    why: "Settings are passed, never imported: a part receives the values it uses.",
  },
  {
    path: "src/roles.ts",
    openTo: ["main"],
    typesOpenTo: [],
    why: "The list of roles joins strangers; whoever imported it would know them all.",
  },
  {
    path: "src/main.ts",
    openTo: [],
    typesOpenTo: [],
    why: "main.ts acts when it is loaded; only the command line loads it.",
  },
];

/** What a unit test beside its source may import on top of what its room may. */
export const TEST_PACKAGES: readonly string[] = ["vitest", "fast-check"];

/** The parts of node: through which an operation could wait for another machine. */
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

/** The room a file of src or web belongs to, or undefined for a file that stands in none. */
export function roomOf(path: string): Room | undefined {
  return ROOMS.find((room) => room.owns.test(path));
}

/** The table as ARCHITECTURE.md shows it. */
export function renderImportTable(): string {
  const rows = ROOMS.map((room) => [
    code(room.name),
    room.holds,
    room.rooms.length === 0 ? "nothing" : room.rooms.map(code).join(", "),
    [...room.packages.map(code), ...renderNode(room.node)].join(", ") || "none",
    room.why,
  ]);
  const doors = DOORS.map((door) => [code(door.path), renderOpenTo(door), door.why]);
  return [
    renderTable(["Room", "Holds", "May import, besides itself", "Packages", "Why"], rows),
    "",
    "Some files are open to fewer rooms than the table says:",
    "",
    renderTable(["File", "May be imported by", "Why"], doors),
  ].join("\n");
}

function renderOpenTo({ openTo, typesOpenTo }: Door): string {
  const types = typesOpenTo.map((room) => `${code(room)} (types only)`);
  return [...openTo.map(code), ...types].join(", ") || "nobody";
}

function renderNode(access: NodeAccess): string[] {
  if (access === "none") return [];
  return [access === "all" ? "`node:`" : "`node:` without the network"];
}

function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function code(text: string): string {
  return `\`${text}\``;
}
