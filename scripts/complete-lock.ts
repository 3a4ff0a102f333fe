// Adds to package-lock.json the binaries of other platforms that the current registry did not have when the lock file
// was created. Without them `npm ci` rejects the lock file, and other platforms would lack the tools.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

type LockEntry = {
  version?: string;
  license?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
};

export type Lock = { packages: Record<string, LockEntry> };

const SYSTEMS = [
  "aix",
  "android",
  "darwin",
  "freebsd",
  "linux",
  "netbsd",
  "openbsd",
  "openharmony",
  "sunos",
  "win32",
];
const PROCESSORS = [
  "arm",
  "arm64",
  "ia32",
  "loong64",
  "mips64el",
  "ppc64",
  "riscv64",
  "s390x",
  "wasm32",
  "x64",
];

/**
 * The lock with an entry for every optional dependency that it names, and the names that were added. Version and
 * license are those of the dependent package, the platform is derived from the name; the digest is not known. Throws
 * when a name or version is not sufficient.
 */
export function completeLock(lock: Lock): { lock: Lock; added: string[] } {
  const packages = { ...lock.packages };
  const added: string[] = [];
  for (const [folder, parent] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
      if (folder === "" || Object.keys(packages).some((known) => known.endsWith(`node_modules/${name}`)))
        continue;
      packages[`node_modules/${name}`] = entryFor({ name, version, parent });
      added.push(name);
    }
  }
  const sorted = Object.entries(packages).toSorted(([a], [b]) => a.localeCompare(b, "en"));
  return { lock: { ...lock, packages: Object.fromEntries(sorted) }, added };
}

function entryFor(at: { name: string; version: string; parent: LockEntry }): LockEntry {
  const words = at.name.slice(at.name.indexOf("/") + 1).split("-");
  const system = SYSTEMS.find((one) => words.includes(one));
  const processor = PROCESSORS.find((one) => words.includes(one));
  const isExact = /^\d+\.\d+\.\d+(-[\w.]+)?$/.test(at.version);
  if (!isExact || processor === undefined || (system === undefined && processor !== "wasm32")) {
    throw new Error(`${at.name}@${at.version} has no version or platform`);
  }
  const libc = words.some((word) => word.startsWith("musl")) ? "musl" : "glibc";
  return {
    version: at.version,
    cpu: [processor],
    ...(at.parent.dev === true && { dev: true }),
    ...(words.some((word) => /^(musl|gnu)/.test(word)) && { libc: [libc] }),
    ...(at.parent.license !== undefined && { license: at.parent.license }),
    optional: true,
    ...(system !== undefined && { os: [system] }),
  };
}

if (import.meta.main) {
  const path = join(import.meta.dirname, "../package-lock.json");
  const { lock, added } = completeLock(JSON.parse(readFileSync(path, "utf8")) as Lock);
  if (added.length > 0) writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
  process.stdout.write(added.length === 0 ? "The lock file is complete.\n" : `Added: ${added.join(", ")}\n`);
}
