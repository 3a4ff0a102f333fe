// `npm run build`: dist/, which runs under plain Node wherever it is installed. Compiles the server and the CLI file by
// file with TypeScript, the declarations of the client, the dashboard with Vite, and the documentation with VitePress.
// It does not check types.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

const ROOT = join(import.meta.dirname, "..");
const DIST = join(ROOT, "dist");
/** Parts of dist/ that are not of the server. */
const OTHER_PARTS = ["web", "docs"];

const HELP = `Makes dist/ out of src/, web/ and docs/.

Usage: npm run build [-- --only server|web|docs] [--quiet]
`;

/** The parts, each of which can be built alone. */
export type Part = "server" | "web" | "docs";

const PARTS: Readonly<Record<Part, () => Promise<void>>> = {
  server: buildServer,
  web: buildWeb,
  docs: buildDocs,
};

/** Builds the parts one after the other. Rejects with the output of the compiler. */
export async function build(parts: readonly Part[] = ["server", "web", "docs"]): Promise<void> {
  for (const part of parts) await PARTS[part]();
}

async function buildServer(): Promise<void> {
  // Output without a source must be removed.
  for (const entry of existsSync(DIST) ? readdirSync(DIST) : []) {
    if (!OTHER_PARTS.includes(entry)) rmSync(join(DIST, entry), { recursive: true });
  }
  await run("typescript", "tsc", ["-p", "tsconfig.build.json", "--noCheck"]);
  const client = ["--declaration", "--emitDeclarationOnly", "--noCheck", "--outDir", "dist"];
  await run("typescript", "tsc", ["-p", "tsconfig.client.json", ...client]);
}

async function buildWeb(): Promise<void> {
  await run("vite", "vite", ["build", "--config", "web/vite.config.ts", "--logLevel", "warn"]);
}

async function buildDocs(): Promise<void> {
  await run("vitepress", "vitepress", ["build", "docs"]);
}

/** Runs the program of a package on the current Node; its output is shown when it fails. */
async function run(packageName: string, program: string, args: readonly string[]): Promise<void> {
  const folder = join(ROOT, "node_modules", packageName);
  const { bin } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    bin: Record<string, string>;
  };
  const child = spawn(process.execPath, [join(folder, bin[program] ?? program), ...args], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    // Not the caller's environment: a test would get the development build of React.
    env: { NODE_ENV: "production" },
  });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`${program} failed:\n${Buffer.concat(chunks).toString("utf8")}`);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { only: { type: "string" }, quiet: { type: "boolean" }, help: { type: "boolean" } },
  });
  const isPart = values.only === undefined || values.only in PARTS;
  if (values.help === true || !isPart) {
    (isPart ? process.stdout : process.stderr).write(HELP);
    process.exitCode = isPart ? 0 : 2;
    return;
  }
  const startedAt = performance.now();
  await build(values.only === undefined ? undefined : [values.only as Part]);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  if (values.quiet !== true) process.stdout.write(`Built dist/ in ${seconds} s.\n`);
}

if (import.meta.main) await main();
