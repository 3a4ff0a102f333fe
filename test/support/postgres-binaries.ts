// The two PostgreSQL versions for tests: the newest, from the npm package of the trial, and the oldest supported one,
// from Debian.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { packagedPrograms } from "../../src/cli/private-postgres.ts";

/** A directory that contains `bin/postgres`, and its major version. */
export type PostgresBinaries = { directory: string; major: 15 | 18 };

const DEBIAN_DIRECTORY = "/usr/lib/postgresql/15";

/** PostgreSQL 18 from the npm package of this platform: what `npm ci` alone provides. */
export function embeddedPostgres(): PostgresBinaries {
  return { directory: packagedPrograms(), major: 18 };
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
