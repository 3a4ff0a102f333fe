// A migrated database with checks that notify webhook channels, and flips of them, created through the same operation
// that the sweeper calls. Filled on the server.
import type pg from "pg";
import type { Flip } from "../../src/core/state.ts";
import { writeStatusChanges } from "../../src/operations/plan-deliveries.ts";
import { type Database, openDatabase } from "../../src/store/db.ts";
import { migrate } from "../../src/store/migrate.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import type { Engine } from "../store/engine.ts";
import type { DeliverSize } from "./sizes.ts";

const DATABASE = "deliveries";
/** A slow disk is part of the measurement, and no reason to give up. */
const COMMIT_TIMEOUT_MS = 60_000;
const CHECKS_PER_PROJECT = 100;
const PINGS_PER_CHECK = 20;

export type DeliverScale = {
  url: string;
  /** The checks, in no particular order. */
  checks: readonly { id: number; uuid: string }[];
  /** Makes checks go down or come up, in one transaction, with one message for each. */
  flip(checks: readonly { id: number }[], to: "up" | "down"): Promise<void>;
  /** How many deliveries have ended in each state. */
  states(): Promise<Record<string, number>>;
  close(): Promise<void>;
};

/** Creates, migrates and fills it. Every webhook calls the receiver, with the UUID of the check at the end. */
export async function createDeliverScale(
  engine: Engine,
  { size, receiverUrl }: { size: DeliverSize; receiverUrl: string },
): Promise<DeliverScale> {
  const creator = await engine.connect("postgres");
  await creator.query(`create database ${DATABASE}`);
  await creator.end();
  const url = engine.url(DATABASE);
  const options = { url, applicationName: "overdue-bench", onError: () => {} };
  await migrate(options);
  const admin = await engine.connect(DATABASE);
  await fill(admin, { size, receiverUrl });
  const database = openDatabase(options);
  const { rows } = await admin.query<{ id: string; uuid: string }>("select id, uuid from checks");
  return {
    url,
    checks: rows.map(({ id, uuid }) => ({ id: Number(id), uuid })),
    flip: (checks, to) => flipChecks(database, checks, to),
    states: async () => {
      const found = await admin.query<{ state: string; count: string }>(
        "select state, count(*) as count from deliveries group by state",
      );
      return Object.fromEntries(found.rows.map(({ state, count }) => [state, Number(count)]));
    },
    close: async () => {
      await database.close();
      await admin.end();
    },
  };
}

async function flipChecks(
  database: Database,
  checks: readonly { id: number }[],
  to: "up" | "down",
): Promise<void> {
  const now = Date.now();
  const flip: Flip =
    to === "down"
      ? { at: now, from: "up", to: "down", reason: "timeout" }
      : { at: now, from: "down", to: "up", reason: "success" };
  const flips = checks.map(({ id }) => ({ checkId: id, flip: { ...flip } }));
  const alerts = flips.map((one) => ({
    checkId: one.checkId,
    change:
      to === "down"
        ? ({ kind: "opened", at: now, cause: "missed", flip: one.flip } as const)
        : ({ kind: "closed", at: now, cause: "recovered", flip: one.flip } as const),
  }));
  await inTransaction(database, (tx) => writeStatusChanges(tx, { flips, alerts }), {
    commitTimeoutMs: COMMIT_TIMEOUT_MS,
  });
}

async function fill(
  admin: pg.Client,
  { size, receiverUrl }: { size: DeliverSize; receiverUrl: string },
): Promise<void> {
  const { deliveries, channels } = size;
  const projectOf = (i: string) => `1 + ${i} % ${Math.max(1, Math.floor(channels / 2))}`;
  await admin.query(`insert into projects (uuid, name, badge_key, created_at)
    select gen_random_uuid(), 'Backups ' || i, gen_random_uuid(), now()
    from generate_series(1, ${Math.max(1, Math.ceil(deliveries / CHECKS_PER_PROJECT), channels)}) i`);
  await admin.query(`insert into checks (uuid, badge_uuid, unique_key,
    project_id, name, slug, tags, description, kind,
      timeout_seconds, grace_seconds, schedule, tz, manual_resume, methods, start_kw, success_kw, failure_kw,
      filter_subject, filter_body, filter_http_body, filter_default_fail, created_at, updated_at)
    select gen_random_uuid(), gen_random_uuid(), gen_random_uuid()::text,
      ${projectOf("i")}, 'nightly backup ' || i, 'nightly-backup-' || i,
      'prod db', 'copies the database to the other site', 'simple', 3600, 600, '* * * * *', 'UTC', false, '', '', '',
      '', false, false, false, false, now(), now()
    from generate_series(1, ${deliveries}) i`);
  await admin.query(`insert into check_states (check_id, last_ping_at, ping_count, coalesced_count, rate_count, status)
    select id, now(), ${PINGS_PER_CHECK}, 0, 0, 'up' from checks`);
  await admin.query(`insert into pings (at, check_id, n, kind, scheme, method, remote_addr, ua)
    select now() - (${PINGS_PER_CHECK} - n) * interval '1 hour', c.id, n, 's', 'http', 'GET', '127.0.0.1', 'curl/8.5.0'
    from generate_series(1, ${PINGS_PER_CHECK}) n, checks c`);
  const config = {
    url_down: `${receiverUrl}/$CODE`,
    url_up: `${receiverUrl}/$CODE`,
    body_down: "$NAME is $STATUS: $JSON",
    body_up: "$NAME is $STATUS: $JSON",
  };
  await admin.query(
    `insert into channels (uuid, project_id, kind, name, config, created_at)
      select gen_random_uuid(), ${projectOf("(i - 1)")}, 'webhook', 'channel ' || i, $1, now()
      from generate_series(1, ${channels}) i`,
    [JSON.stringify(config)],
  );
  await admin.query(`insert into check_channels (check_id, channel_id)
    select id, 1 + id % ${channels} from checks`);
  await admin.query("vacuum analyze");
}
