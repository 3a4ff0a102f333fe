// What every migration must follow, read from the catalog: readers named, growth bounded, no clock.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";

const database = useDatabase();
const MIGRATIONS = fileURLToPath(new URL("../../migrations/", import.meta.url));

test("every table says what it is for and what bounds it", async () => {
  const { rows } = await database.db.pool.query<{ name: string; comment: string | null }>(
    `select relname as name, obj_description(oid, 'pg_class') as comment from pg_class
     where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'schema_migrations'`,
  );
  expect(rows.length).toBeGreaterThan(15);
  expect(rows.filter(({ comment }) => comment === null).map(({ name }) => name)).toEqual([]);
});

test("every index beside the keys names its reader or what it guards", async () => {
  const { rows } = await database.db.pool.query<{ name: string; comment: string | null }>(
    `select i.indexrelid::regclass::text as name, obj_description(i.indexrelid, 'pg_class') as comment
     from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relnamespace = 'public'::regnamespace
       and not exists (select from pg_constraint con where con.conindid = i.indexrelid and con.contype in ('p', 'u'))`,
  );
  expect(rows.length).toBeGreaterThan(10);
  expect(rows.filter(({ comment }) => !/Reader|Guards/.test(comment ?? "")).map(({ name }) => name)).toEqual(
    [],
  );
});

test("tables that signals are recorded in have no foreign keys but that of the state", async () => {
  const { rows } = await database.db.pool.query<{ name: string }>(
    `select distinct conrelid::regclass::text as name from pg_constraint where contype = 'f' order by 1`,
  );
  expect(rows.map(({ name }) => name)).toEqual([
    "access_tokens",
    "api_keys",
    "audit_entries",
    "authenticators",
    "board_links",
    "channel_quotas",
    "channels",
    "check_aliases",
    "check_channels",
    "check_parents",
    "check_states",
    "checks",
    "fire_drill_messages",
    "fire_drill_schedules",
    "fire_drills",
    "forecast_feeds",
    "forecast_marks",
    "idempotency_keys",
    "import_items",
    "incident_events",
    "intake_lanes",
    "invitations",
    "letters",
    "log_claims",
    "members",
    "near_misses",
    "oidc_identities",
    "passkeys",
    "passwords",
    "preferences",
    "recovery_codes",
    "sessions",
    "sign_in_failures",
    "sign_in_steps",
    "sign_in_tokens",
    "sign_ins",
    "silences",
    "status_logos",
    "status_messages",
    "status_notes",
    "status_pages",
    "status_posts",
    "status_subscribers",
    "tag_rules",
    "transfers",
  ]);
});

test("no column takes its value from the database's clock, and no table has a trigger", async () => {
  const { rows: defaults } = await database.db.pool.query(
    `select adrelid::regclass::text, pg_get_expr(adbin, adrelid) as value from pg_attrdef
     where adrelid::regclass::text <> 'schema_migrations'
       and pg_get_expr(adbin, adrelid) ~* 'now|current|clock|timestamp'`,
  );
  expect(defaults).toEqual([]);
  const { rows: triggers } = await database.db.pool.query(
    "select tgname from pg_trigger where not tgisinternal",
  );
  expect(triggers).toEqual([]);
});

test("the statements of the store read the clock in three places only", () => {
  const store = fileURLToPath(new URL("../../src/store/", import.meta.url));
  const files = readdirSync(store, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !file.endsWith(".test.ts"),
  );
  expect(files.length).toBeGreaterThan(15);
  const reading = files.filter((file) =>
    /(?<!\.)\b(now\(\)|clock_timestamp|current_timestamp|current_date|statement_timestamp)/i.test(
      readFileSync(`${store}${file}`, "utf8"),
    ),
  );
  // The key lookup of a request also returns the time, which saves a query per API call. A migration that waits for a
  // lock names the age of the other session's transaction.
  expect(reading.toSorted()).toEqual(["api-keys.ts", "instance.ts", "migrate.ts"]);
});

test("the reviewed dump lists every table", async () => {
  const dump = readFileSync(`${MIGRATIONS}schema.sql`, "utf8");
  const { rows } = await database.db.pool.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'schema_migrations'`,
  );
  expect(rows.filter(({ name }) => !dump.includes(`create table ${name} (`))).toEqual([]);
});
