// A project with many checks and a long history, written straight into the tables: recording it ping by ping would take
// hours.
import { randomUUID } from "node:crypto";
import { seedAccount } from "../../scripts/seed.ts";
import { newCheck } from "../../src/core/check.ts";
import { newUuidIn } from "../../src/core/identity.ts";
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from "../../src/core/instant.ts";
import { createProject } from "../../src/operations/projects.ts";
import { secretKeyOf } from "../../src/operations/secrets.ts";
import { insertCheck, insertState } from "../../src/store/checks.ts";
import { type Database, openDatabase } from "../../src/store/db.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { insertBlindInterval } from "../../src/store/intakes.ts";
import { findProjectByUuid } from "../../src/store/projects.ts";
import { packRuns } from "../../src/store/runs.ts";
import { inTransaction } from "../../src/store/transaction.ts";

/** Runs of a check that are in the log; older ones are packed. */
const LOGGED_RUNS = 50;
const RUNS_PER_CHUNK = 100;
const CHECKS_PER_TRANSACTION = 500;
const CHUNKS_PER_STATEMENT = 4_000;
const TAGS = ["prod", "eu-west", "db", "billing", "edge", "etl", "backup", "mail", "infra", "search"];

type Job = {
  everyMs: number;
  /** How long after a full period it runs. */
  phaseMs: number;
  durationMs: number;
  schedule: string;
  tags: string;
  name: string;
};

/** Two thirds run every hour, a fifth every day, the others every five minutes. */
function jobOf(index: number): Job {
  const minute = index % 60;
  const tags = `${TAGS[(index * 7) % TAGS.length] ?? ""} ${index % 3 === 0 ? "critical" : "normal"}`;
  const name = `job-${String(index).padStart(5, "0")}`;
  if (index % 10 === 0) {
    const phaseMs = (index % 5) * MINUTE_MS;
    return {
      everyMs: 5 * MINUTE_MS,
      phaseMs,
      durationMs: 4_000,
      schedule: `${index % 5}-59/5 * * * *`,
      tags,
      name,
    };
  }
  if (index % 10 < 3) {
    const hour = index % 24;
    const phaseMs = hour * HOUR_MS + minute * MINUTE_MS;
    const durationMs = (5 + (index % 80)) * MINUTE_MS;
    return { everyMs: DAY_MS, phaseMs, durationMs, schedule: `${minute} ${hour} * * *`, tags, name };
  }
  const durationMs = (20 + (index % 900)) * SECOND_MS;
  return {
    everyMs: HOUR_MS,
    phaseMs: minute * MINUTE_MS,
    durationMs,
    schedule: `${minute} * * * *`,
    tags,
    name,
  };
}

/** The end of the newest run. */
function lastEnd({ everyMs, phaseMs, durationMs }: Job, now: Instant): Instant {
  return Math.floor((now - durationMs - phaseMs) / everyMs) * everyMs + phaseMs + durationMs;
}

type Made = { id: number; job: Job; endAt: Instant };

export type TimelineHistory = { accountId: number; project: string };

/** Fills a migrated database. Prints progress. */
export async function fillTimeline(
  url: string,
  size: { checks: number; days: number },
): Promise<TimelineHistory> {
  const database = openDatabase({ url, applicationName: "overdue-bench", onError: () => {} });
  try {
    const filled = await fillWithHistory(database, size);
    await database.pool.query("vacuum analyze");
    return filled;
  } finally {
    await database.close();
  }
}

/** An account with a project of this many checks. */
export async function fillWithHistory(
  database: Database,
  { checks: count, days }: { checks: number; days: number },
): Promise<TimelineHistory> {
  const now = await readDatabaseClock(database);
  const { id: accountId } = await seedAccount(database);
  const secretKey = await secretKeyOf(database, null);
  const createdAt = now - days * DAY_MS;
  const made = await createProject(database, {
    ownerId: accountId,
    name: "Fleet",
    secretKey,
    now: createdAt,
  });
  const project = await findProjectByUuid(database, made.uuid);
  if (project === null) throw new Error("the new project does not exist");
  const checks: Made[] = [];
  for (let from = 0; from < count; from += CHECKS_PER_TRANSACTION) {
    await inTransaction(database, async (tx) => {
      const some = Array.from(
        { length: Math.min(CHECKS_PER_TRANSACTION, count - from) },
        async (_, index) => {
          const job = jobOf(from + index);
          const { name, tags, schedule } = job;
          const settings = newCheck({ name, tags, schedule, tz: "Europe/Riga" }, { deriveSlug: true });
          const names = {
            uuid: newUuidIn(project.uuid, randomUUID),
            badgeUuid: newUuidIn(project.uuid, randomUUID),
          };
          const id = await insertCheck(tx, { ...names, projectId: project.id, settings, createdAt });
          await insertState(tx, id);
          return { id, job, endAt: lastEnd(job, now) };
        },
      );
      checks.push(...(await Promise.all(some)));
    });
  }
  console.log(`timeline: ${checks.length} checks`);
  await addStates(database, { checks, now });
  await addLog(database, { checks, days });
  await addChunks(database, { checks, from: createdAt });
  await addDays(database, { checks, now, days });
  await addTrouble(database, { checks, now, days });
  return { accountId, project: made.uuid };
}

type Filling = { checks: readonly Made[]; now: Instant; days: number };

async function addStates(database: Database, { checks, now }: Omit<Filling, "days">): Promise<void> {
  await database.pool.query(
    `update check_states s set status = 'up', last_ping_at = to_timestamp(n.at / 1000.0),
        newest_at = to_timestamp(n.at / 1000.0), last_duration_ms = n.duration_ms, ping_count = $4,
        down_at = to_timestamp(n.at / 1000.0) + n.every_ms * interval '1 millisecond' + interval '1 hour',
        sweep_at = to_timestamp(n.at / 1000.0), day = to_timestamp($5 / 1000.0)::date, day_success_count = 1, day_fail_count = 0, day_timed_count = 1,
        day_duration_sum_ms = n.duration_ms, day_duration_max_ms = n.duration_ms
      from unnest($1::bigint[], $2::float8[], $3::bigint[], $6::bigint[]) as n (id, at, duration_ms, every_ms)
      where s.check_id = n.id`,
    [
      checks.map(({ id }) => id),
      checks.map(({ endAt }) => endAt),
      checks.map(({ job }) => job.durationMs),
      2 * LOGGED_RUNS,
      now,
      checks.map(({ job }) => job.everyMs),
    ],
  );
}

/** How many runs of a check are in the log. */
function loggedCount({ everyMs }: Job, days: number): number {
  return Math.min(LOGGED_RUNS, Math.floor((days * DAY_MS) / everyMs));
}

/** A start and a success for each of the newest runs; one in fifty is late by more than half its grace period. */
async function addLog(database: Database, { checks, days }: Omit<Filling, "now">): Promise<void> {
  for (const kind of ["b", "s"] as const) {
    await database.pool.query(
      `insert into pings (at, check_id, n, duration_ms, kind, scheme, method, ua)
        select to_timestamp((n.end_at - i * n.every_ms - case when $6 = 'b' then n.duration_ms else 0 end) / 1000.0),
          n.id, (n.count - i) * 2 - case when $6 = 'b' then 1 else 0 end,
          case when $6 = 's' then n.duration_ms end, $6::"char", 'https', 'GET', 'curl/8.5.0'
        from unnest($1::bigint[], $2::float8[], $3::bigint[], $4::bigint[], $5::int[])
          as n (id, end_at, duration_ms, every_ms, count)
        cross join generate_series(0, n.count - 1) as i`,
      [
        checks.map(({ id }) => id),
        checks.map(({ endAt }) => endAt),
        checks.map(({ job }) => job.durationMs),
        checks.map(({ job }) => job.everyMs),
        checks.map(({ job }) => loggedCount(job, days)),
        kind,
      ],
    );
  }
  console.log("timeline: logs");
}

/** Older runs, packed. Checks with the same times share their chunks. */
async function addChunks(
  database: Database,
  { checks, from }: { checks: readonly Made[]; from: Instant },
): Promise<void> {
  type Chunk = { fromAt: Instant; toAt: Instant; count: number; runs: Buffer };
  const known = new Map<string, Chunk[]>();
  const chunksOf = ({ job, endAt }: Made): Chunk[] => {
    const key = `${job.everyMs} ${endAt} ${job.durationMs}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const chunks: Chunk[] = [];
    for (let last = endAt - LOGGED_RUNS * job.everyMs; last > from; last -= RUNS_PER_CHUNK * job.everyMs) {
      const count = Math.min(RUNS_PER_CHUNK, Math.ceil((last - from) / job.everyMs));
      const runs = Array.from({ length: count }, (_, index) => ({
        endAt: last - (count - 1 - index) * job.everyMs,
        outcome: index % 97 === 96 ? ("fail" as const) : ("success" as const),
        durationMs: job.durationMs + (index % 7) * 200,
      }));
      chunks.push({ fromAt: last - (count - 1) * job.everyMs, toAt: last, count, runs: packRuns(runs) });
    }
    known.set(key, chunks);
    return chunks;
  };
  const all = checks.flatMap((check) => chunksOf(check).map((chunk) => ({ ...chunk, id: check.id })));
  for (let at = 0; at < all.length; at += CHUNKS_PER_STATEMENT) {
    const some = all.slice(at, at + CHUNKS_PER_STATEMENT);
    await database.pool.query(
      `insert into run_chunks (check_id, from_at, to_at, run_count, runs)
        select id, to_timestamp(from_at / 1000.0), to_timestamp(to_at / 1000.0), count, runs
        from unnest($1::bigint[], $2::float8[], $3::float8[], $4::int[], $5::bytea[]) as n (id, from_at, to_at, count, runs)`,
      [
        some.map(({ id }) => id),
        some.map(({ fromAt }) => fromAt),
        some.map(({ toAt }) => toAt),
        some.map(({ count }) => count),
        some.map(({ runs }) => runs),
      ],
    );
  }
  console.log(`timeline: ${all.length} chunks`);
}

/** Day by day, as they are written. */
async function addDays(database: Database, { checks, now, days }: Filling): Promise<void> {
  for (let ago = days; ago > 0; ago -= 1) {
    await database.pool.query(
      `insert into check_days (check_id, day, success_count, fail_count, timed_count, duration_sum_ms, duration_max_ms)
        select id, to_timestamp($4 / 1000.0)::date, count, 0, count, count * duration_ms, duration_ms
        from unnest($1::bigint[], $2::int[], $3::bigint[]) as n (id, count, duration_ms)`,
      [
        checks.map(({ id }) => id),
        checks.map(({ job }) => Math.round(DAY_MS / job.everyMs)),
        checks.map(({ job }) => job.durationMs),
        now - ago * DAY_MS,
      ],
    );
  }
  console.log("timeline: daily totals");
}

/** One check in 300 is down; one in ten was down for an hour, five times. A monitoring gap, and a silence. */
async function addTrouble(database: Database, { checks, now, days }: Filling): Promise<void> {
  const flips: { id: number; at: Instant; from: string; to: string; reason: string }[] = [];
  const down: number[] = [];
  for (const [index, { id, endAt }] of checks.entries()) {
    if (index % 10 === 3) {
      for (let i = 1; i <= 5; i += 1) {
        const at = now - ((index % 100) / 100 + i - 1) * (days / 5) * DAY_MS - 3 * HOUR_MS;
        flips.push({ id, at, from: "up", to: "down", reason: i % 2 === 0 ? "fail" : "timeout" });
        flips.push({ id, at: at + HOUR_MS, from: "down", to: "up", reason: "success" });
      }
    }
    if (index % 300 !== 17) continue;
    down.push(id);
    flips.push({ id, at: endAt, from: "up", to: "down", reason: "fail" });
  }
  flips.sort((one, other) => one.at - other.at);
  await database.pool.query(
    `insert into flips (check_id, at, from_status, to_status, reason)
      select id, to_timestamp(at / 1000.0), from_status, to_status, reason
      from unnest($1::bigint[], $2::float8[], $3::text[], $4::text[], $5::text[]) as n (id, at, from_status, to_status, reason)`,
    [
      flips.map(({ id }) => id),
      flips.map(({ at }) => at),
      flips.map(({ from }) => from),
      flips.map(({ to }) => to),
      flips.map(({ reason }) => reason),
    ],
  );
  await database.pool.query(
    "update check_states set status = 'down', down_at = null where check_id = any ($1::bigint[])",
    [down],
  );
  await inTransaction(database, async (tx) => {
    const from = now - 10 * HOUR_MS;
    await insertBlindInterval(tx, { intakeId: null, from, to: from + 20 * MINUTE_MS, reason: "an outage" });
  });
  console.log(`timeline: ${flips.length} flips, ${down.length} checks are down`);
}
