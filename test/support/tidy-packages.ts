// Tidy rules about what is installed: exact versions, a lock file that names no download address, no
// install script in what is shipped, and licences that let anyone use the product.
import type { Finding, SourceFile, Tree, Verdict } from "./tidy-tree.ts";

type Manifest = Partial<
  Record<"dependencies" | "devDependencies" | "optionalDependencies", Record<string, string>>
>;

type LockEntry = {
  version?: string;
  resolved?: string;
  integrity?: string;
  license?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  hasInstallScript?: boolean;
  optionalDependencies?: Record<string, string>;
};

const LOCK_PATH = "package-lock.json";

/** Licences under which anyone may use, change and ship a package without opening their own code. */
const PERMISSIVE = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "ISC",
  "MIT",
  "MIT-0",
  "OFL-1.1",
  "Python-2.0",
  "Unlicense",
]);

/** Every dependency names one version: what was tested is what is installed. */
export function checkExactVersions(tree: Tree): Verdict {
  const file = tree.files.get("package.json");
  if (file === undefined) return { looked: 0, findings: [] };
  const manifest = JSON.parse(file.text) as Manifest;
  const groups = [manifest.dependencies, manifest.devDependencies, manifest.optionalDependencies];
  const wanted = groups.flatMap((group) => Object.entries(group ?? {}));
  const findings = wanted
    .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
    .map(([name, version]) => ({
      path: file.path,
      line: lineOf(file, `"${name}"`),
      text: `${name} is asked for as "${version}"; name one exact version`,
    }));
  return { looked: wanted.length, findings };
}

/**
 * The lock file works with whatever registry npm is set up for: it names no address, is complete, and every
 * package that CI installs can be verified. Of tools for other platforms the digest may be unknown.
 */
export function checkLockFile(tree: Tree): Verdict {
  const file = tree.files.get(LOCK_PATH);
  const entries = lockEntries(tree);
  const known = new Set(entries.map(([folder]) => packageOf(folder)));
  const findings: Finding[] = [];
  for (const [folder, entry] of entries) {
    const complain = (text: string) =>
      findings.push({ path: LOCK_PATH, line: file === undefined ? 0 : lineOf(file, `"${folder}"`), text });
    if (entry.resolved !== undefined) complain(`${folder} names a download address`);
    if (entry.integrity === undefined && !isForeignTool(entry)) {
      complain(`${folder} has no digest to be verified by`);
    }
    for (const name of Object.keys(entry.optionalDependencies ?? {})) {
      if (known.has(name)) continue;
      complain(`${folder} may need ${name}, which is missing; mend with: node scripts/complete-lock.ts`);
    }
  }
  return { looked: entries.length, findings };
}

/** A development tool's binary that cannot be installed where CI runs: Linux, x64, glibc. */
function isForeignTool({ dev, optional, os, cpu, libc }: LockEntry): boolean {
  if (dev !== true || optional !== true) return false;
  const isHere = [os ?? ["linux"], cpu ?? ["x64"], libc ?? ["glibc"]].flat().join(" ") === "linux x64 glibc";
  return !isHere;
}

/** What is shipped installs without running anything: npm no longer runs install scripts. */
export function checkInstallScripts(tree: Tree): Verdict {
  const shipped = lockEntries(tree).filter(([, entry]) => entry.dev !== true);
  const exempt = new Set(tree.exemptions.installScripts.map(({ path }) => path));
  const findings = shipped
    .filter(([folder, entry]) => entry.hasInstallScript === true && !exempt.delete(packageOf(folder)))
    .map(([folder]) =>
      atLock(tree, folder, `${packageOf(folder)} has an install script, which npm does not run`),
    );
  const left = [...exempt].map((name) => atLock(tree, name, `${name} is exempt, but has no install script`));
  return { looked: shipped.length, findings: [...findings, ...left] };
}

/** Licences are permissive; the exceptions are named, and never shipped. */
export function checkLicences(tree: Tree): Verdict {
  const unused = new Set(tree.exemptions.licences);
  const entries = lockEntries(tree);
  const findings: Finding[] = [];
  for (const [folder, entry] of entries) {
    const name = packageOf(folder);
    // The installed package has the last word; what is for another platform is known from the lock only.
    const installed = tree.installed.get(folder);
    const licence = installed === undefined ? entry.license : licenceOf(installed);
    if (licence !== undefined && isPermissive(licence)) continue;
    const exemption = tree.exemptions.licences.find((one) => one.name.test(name) && one.licence === licence);
    if (exemption !== undefined) unused.delete(exemption);
    if (exemption === undefined)
      findings.push(atLock(tree, folder, `${name} has the licence ${licence ?? "(none)"}`));
    else if (entry.dev !== true)
      findings.push(atLock(tree, folder, `${name} (${licence}) may not be shipped`));
  }
  const left = [...unused].map(({ name }) =>
    atLock(tree, "", `no package needs the licence exemption ${name}`),
  );
  return { looked: entries.length, findings: [...findings, ...left] };
}

/** `A OR B` is the user's choice; `A AND B` binds to both. */
function isPermissive(expression: string): boolean {
  const plain = expression.replaceAll(/[()]/g, "");
  return plain
    .split(/\s+OR\s+/)
    .some((choice) => choice.split(/\s+AND\s+/).every((one) => PERMISSIVE.has(one.trim())));
}

function licenceOf(manifest: SourceFile): string | undefined {
  const { license } = JSON.parse(manifest.text) as { license?: string | { type?: string } };
  return typeof license === "object" ? license.type : license;
}

function lockEntries(tree: Tree): [string, LockEntry][] {
  const lock = JSON.parse(tree.files.get(LOCK_PATH)?.text ?? "{}") as {
    packages?: Record<string, LockEntry>;
  };
  return Object.entries(lock.packages ?? {}).filter(([folder]) => folder !== "");
}

function packageOf(folder: string): string {
  return folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
}

function atLock(tree: Tree, folder: string, text: string): Finding {
  const file = tree.files.get(LOCK_PATH);
  return { path: LOCK_PATH, line: file === undefined ? 0 : lineOf(file, `"${folder}"`), text };
}

function lineOf(file: SourceFile, wanted: string): number {
  return file.text.split("\n").findIndex((line) => line.includes(wanted)) + 1;
}
