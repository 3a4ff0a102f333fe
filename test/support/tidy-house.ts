// A small healthy repository, one file in every room, over which the tidy tests lay their violations.
// Every rule holds for it; the plants themselves are in tidy-plants.ts.
import { createHash } from "node:crypto";
import { ROOMS } from "./import-rule.ts";

/** Every planted file begins with a head comment, so that what is planted stands in line 2. */
export const HEAD = "// A planted file, long enough to say what it is for.\n";

export const FIRST_MIGRATION =
  "-- The first tables of a small house, for planting.\n" +
  "create table checks (id bigint);\ncreate table if not exists check_state (id bigint);\ncreate table old (id bigint);\ncreate table work (id bigint);\n";
const SECOND_MIGRATION =
  "-- What the first one got wrong, put right.\ndrop table old;\nalter table work rename to jobs;\n";

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

function roomPackages(name: string): readonly string[] {
  return ROOMS.find((room) => room.name === name)?.packages ?? [];
}

export const MANIFEST = {
  dependencies: {
    pg: "8.0.0",
    "node-pg-migrate": "9.0.0",
    pino: "10.0.0",
    "prom-client": "15.0.0",
    aws4fetch: "1.0.0",
    commander: "15.0.0",
    fastify: "5.0.0",
    htmlparser2: "12.0.0",
    typebox: "1.0.0",
    "postal-mime": "4.0.0",
    nodemailer: "10.0.0",
    "ipaddr.js": "2.0.0",
    undici: "8.0.0",
    "smtp-server": "3.0.0",
    otpauth: "9.0.0",
    uqr: "0.1.0",
    "openid-client": "6.0.0",
    "@simplewebauthn/server": "14.0.0",
  },
  devDependencies: {
    vitest: "5.0.0-beta.1",
    ...Object.fromEntries(roomPackages("web").map((name) => [name, "1.0.0"])),
    ...Object.fromEntries(roomPackages("web/fixture").map((name) => [name, "1.0.0"])),
  },
};

const LOCK = {
  packages: {
    "": { dependencies: MANIFEST.dependencies },
    "node_modules/pg": { version: "8.0.0", integrity: "sha512-a", license: "MIT" },
    "node_modules/vitest": {
      version: "5.0.0",
      integrity: "sha512-b",
      license: "(GPL-3.0 OR MIT)",
      dev: true,
    },
    "node_modules/vitest/node_modules/css": {
      version: "1.0.0",
      integrity: "sha512-c",
      license: "MPL-2.0",
      dev: true,
    },
  },
};

/** The lock file with one package changed, printed so that every package begins a line. */
export function lockWith(folder: string, change: Record<string, unknown>): string {
  const packages: Record<string, unknown> = { ...LOCK.packages };
  packages[folder] = { ...LOCK.packages["node_modules/pg"], ...change };
  return JSON.stringify({ packages }, null, 1);
}

/** One file in every room. All rules hold for it. */
export const SMALL_HOUSE: Record<string, string> = {
  "package.json": JSON.stringify(MANIFEST, null, 1),
  "package-lock.json": JSON.stringify(LOCK, null, 1),
  "migrations/0001_initial.sql": FIRST_MIGRATION,
  "migrations/0002_names.sql": SECOND_MIGRATION,
  "migrations/checksums.json": JSON.stringify({
    "0001_initial.sql": digest(FIRST_MIGRATION),
    "0002_names.sql": digest(SECOND_MIGRATION),
  }),
  "src/core/check.ts": `${HEAD}export const a = 1;\n`,
  "src/lib/log.ts": `${HEAD}import { pino } from "pino";\nexport const log = pino();\n`,
  "src/contract/check.ts": `${HEAD}export const a = 1;\n`,
  "src/contract/web/row.ts": `${HEAD}export const a = 1;\n`,
  "src/store/db.ts": `${HEAD}import pg from "pg";\nexport const a = pg;\n`,
  "src/store/jobs.ts": `${HEAD}export const sql = "insert into jobs select * from check_state";\n`,
  "src/store/transaction.ts": `${HEAD}export const a = 1;\n`,
  "src/intake/intake.ts": `${HEAD}import { DatabaseSync } from "node:sqlite";\nexport const a = DatabaseSync;\n`,
  "src/channels/channel.ts": `${HEAD}import { request } from "node:https";\nexport const a = request;\n`,
  "src/operations/record-signals.ts": `${HEAD}import { a } from "../store/transaction.ts";\nexport const b = a;\n`,
  "src/services/ping/server.ts": `${HEAD}export const a = 1;\n`,
  "src/services/api/app.ts": `${HEAD}export const a = 1;\n`,
  "src/services/web/app.ts": `${HEAD}export const a = 1;\n`,
  "src/client/client.ts": `${HEAD}export const a = 1;\n`,
  "src/config.ts": `${HEAD}export const port = process.env["PORT"];\n`,
  "src/cli/commands.ts": `${HEAD}import { Command } from "commander";\nexport const a = Command;\n`,
  "src/roles.ts": `${HEAD}export const a = 1;\n`,
  "src/main.ts": `${HEAD}import { a } from "./roles.ts";\nexport const b = a;\n`,
  "web/vite.config.ts": `${HEAD}import { defineConfig } from "vite";\nexport default defineConfig({});\n`,
  "web/main.tsx": `${HEAD}import { StrictMode } from "react";\nexport const a = <StrictMode />;\n`,
  "test/support/cast.ts": `${HEAD}export const a = 1;\n`,
};

/** A planted file with its head comment: the given line is line 2. */
export const source = (text: string): string => `${HEAD}${text}\n`;
