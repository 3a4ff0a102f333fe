// `npm run pack`: the installable package, in test-results/. Its manifest omits what only a checkout needs: the tools,
// the scripts, and the Node that comes with `npm ci`.
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { build } from "./build.ts";

const run = promisify(execFile);

const ROOT = join(import.meta.dirname, "..");
const STAGE = join(ROOT, "test-results/package");
/** npm adds these to every package. */
const ALWAYS = ["README.md", "LICENSE"];
/** Node as npm packages. */
const NODE_PACKAGE = /^node-/;

/** Not needed by users of the package. */
const CHECKOUT_ONLY = ["scripts", "devDependencies"];

type Manifest = { files: string[]; optionalDependencies: Record<string, string> };

/** Packs the build. Returns the path of the tarball. */
export async function pack({ into }: { into: string }): Promise<string> {
  const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest;
  rmSync(STAGE, { recursive: true, force: true });
  mkdirSync(STAGE, { recursive: true });
  mkdirSync(into, { recursive: true });
  for (const entry of [...manifest.files, ...ALWAYS]) {
    cpSync(join(ROOT, entry), join(STAGE, entry), { recursive: true });
  }
  writeFileSync(join(STAGE, "package.json"), `${JSON.stringify(shipped(manifest), null, 2)}\n`);
  await run("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", into], { cwd: STAGE });
  rmSync(STAGE, { recursive: true });
  const tarballs = readdirSync(into).filter((name) => name.endsWith(".tgz"));
  const [newest] = tarballs.toSorted((a, b) => modifiedAt(join(into, b)) - modifiedAt(join(into, a)));
  if (newest === undefined) throw new Error("npm pack created no tarball");
  return join(into, newest);
}

function shipped(manifest: Manifest): object {
  const optional = Object.entries(manifest.optionalDependencies).filter(([name]) => !NODE_PACKAGE.test(name));
  const kept = Object.entries(manifest).filter(([name]) => !CHECKOUT_ONLY.includes(name));
  return { ...Object.fromEntries(kept), optionalDependencies: Object.fromEntries(optional) };
}

function modifiedAt(path: string): number {
  return statSync(path).mtimeMs;
}

const HELP = `Usage: npm run pack

Builds, and makes the package that people install: test-results/overdue-<version>.tgz. Prints its path and size.
`;

if (import.meta.main) {
  const { values } = parseArgs({ options: { help: { type: "boolean" } } });
  if (values.help === true) {
    process.stdout.write(HELP);
    process.exit();
  }
  await build();
  const path = await pack({ into: join(ROOT, "test-results") });
  process.stdout.write(`${path}  ${(statSync(path).size / 1_000).toFixed(0)} kB\n`);
}
