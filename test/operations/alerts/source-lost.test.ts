// A host with 10,000 checks stops: one message for each channel, soon.
import { expect, test } from "vitest";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../src/core/instant.ts";
import type { AlertMessage } from "../../../src/core/message.ts";
import { writeStatusChanges } from "../../../src/operations/plan-deliveries.ts";
import { deliverDue } from "../../../src/operations/send-loop.ts";
import { inTransaction } from "../../../src/store/transaction.ts";
import { useDatabase } from "../../support/database.ts";
import { addChannel, alertOf, assign, flip, SENT } from "../../support/owed.ts";
import { MONDAY_NOON as NOW, sampleCheck, sampleProject } from "../../support/sample.ts";

const database = useDatabase();
const CHECKS = 10_000;
const CHANNELS = 3;

async function world(): Promise<number[]> {
  const { id: projectId } = await sampleProject(database.db);
  const model = await sampleCheck(database.db, { projectId, name: "check" });
  const channels = await Promise.all(
    Array.from({ length: CHANNELS }, () => addChannel(database.db, { projectId })),
  );
  await assign(database.db, model, channels);
  const { pool } = database.db;
  const { rows: columns } = await pool.query<{ name: string }>(
    `select attname::text as name from pg_attribute
     where attrelid = 'checks'::regclass and attnum > 0 and not attisdropped
       and attname not in ('id', 'uuid', 'badge_uuid', 'unique_key', 'policy', 'name')`,
  );
  const same = columns.map(({ name }) => `c.${name}`).join(", ");
  await pool.query(
    `insert into checks (${same.replaceAll("c.", "")}, uuid, badge_uuid, unique_key, name, policy)
     select ${same}, gen_random_uuid(), gen_random_uuid(), md5(n::text), 'check ' || n,
       '{"groupBy": ["source"], "groupWait": 30}'
     from checks c, generate_series(1, $2::int) n where c.id = $1`,
    [model.id, CHECKS],
  );
  await pool.query(
    `insert into check_channels (check_id, channel_id)
     select c.id, cc.channel_id from checks c, check_channels cc
     where cc.check_id = $1 and c.id > $1 and c.project_id = $2`,
    [model.id, projectId],
  );
  await pool.query(
    `insert into check_states (check_id, ping_count, coalesced_count, rate_count, status)
     select id, 1, 0, 0, 'down' from checks where id > $1 and project_id = $2`,
    [model.id, projectId],
  );
  await pool.query(
    `insert into pings (at, check_id, n, kind, scheme, method, remote_addr, ua)
     select $3, id, 1, 's', 'http', 'GET', '10.0.4.13', '' from checks where id > $1 and project_id = $2`,
    [model.id, projectId, new Date(NOW - HOUR_MS)],
  );
  const { rows } = await pool.query<{ id: number }>(
    "select id from checks where id > $1 and project_id = $2 order by id",
    [model.id, projectId],
  );
  return rows.map(({ id }) => id);
}

test("10,000 checks of one source are one message for each channel within a minute", async () => {
  const checkIds = await world();
  const change = async (to: "up" | "down", at: number) => {
    const flips = checkIds.map((checkId) => ({ checkId, flip: flip(to, at) }));
    const alerts = flips.flatMap((one) => {
      const alert = alertOf(one.flip);
      return alert === null ? [] : [{ checkId: one.checkId, change: alert }];
    });
    await inTransaction(database.db, (tx) => writeStatusChanges(tx, { flips, alerts }), {
      commitTimeoutMs: MINUTE_MS,
    });
  };
  const sent: { channelId: number; message: AlertMessage }[] = [];
  const deliver = (now: number) =>
    deliverDue(database.db, {
      now,
      ports: {
        send: async ({ id }, message) => {
          sent.push({ channelId: id, message });
          return SENT;
        },
        isSubscribed: () => true,
        rateOf: () => null,
      },
    });
  await change("down", NOW);
  const beganMs = performance.now();
  await deliver(NOW);
  expect(sent).toEqual([]);
  await deliver(NOW + 30 * SECOND_MS);
  const tookMs = performance.now() - beganMs;
  const down = { state: "down", openedCount: CHECKS, downCount: CHECKS, key: { value: "10.0.4.13" } };
  expect(sent.map(({ message }) => message)).toMatchObject(Array.from({ length: CHANNELS }, () => down));
  expect(new Set(sent.map(({ channelId }) => channelId)).size).toBe(CHANNELS);
  // The wait is part of the minute.
  process.stdout.write(`planned and sent in ${Math.round(tookMs)} ms of work, after 30 s of waiting\n`);
  expect(tookMs).toBeLessThan(30 * SECOND_MS);

  sent.length = 0;
  await change("up", NOW + HOUR_MS);
  await deliver(NOW + HOUR_MS);
  const up = { state: "up", closedCount: CHECKS, downCount: 0 };
  expect(sent.map(({ message }) => message)).toMatchObject(Array.from({ length: CHANNELS }, () => up));
}, 180_000);
