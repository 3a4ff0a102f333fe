// Many checks with webhook channels, created in the database, and the times of their deadlines. Their states look as
// if pings had been received in the past, so that tests need not wait for a day.
import { randomUUID } from "node:crypto";
import type pg from "pg";
import type { Target } from "../signals/outgoing.ts";
import type { Stage } from "../stage/stage.ts";
import type { AlertReceiver } from "./alert-receiver.ts";

/** A check and its channel. */
export type WatchedCheck = Target & { channel: string };

export type WatchedCheckOptions = {
  receiver: AlertReceiver;
  count: number;
  channels: number;
  graceSeconds: number;
};

const TIMEOUT_SECONDS = 86_400;

/** Adds checks that expect nothing yet; each channel has its own project. */
export async function addWatchedChecks(stage: Stage, options: WatchedCheckOptions): Promise<WatchedCheck[]> {
  const names = Array.from({ length: options.channels }, () => randomUUID().slice(0, 8));
  return stage.withClient(async (client) => {
    const projects = await client.query<{ id: string; ping_key: string }>(
      `insert into projects (uuid, name, ping_key, badge_key, created_at)
       select gen_random_uuid(), 'Backups of ' || name, md5(name), gen_random_uuid(), now()
       from unnest($1::text[]) with ordinality as n (name, nth) order by nth returning id, ping_key`,
      [names],
    );
    const projectIds = projects.rows.map(({ id }) => id);
    const checks = await addChecks(client, { ...options, projectIds });
    await addChannels(client, { ...options, projectIds, names, checkIds: checks.map(({ id }) => id) });
    await client.query("analyze checks, check_states, check_channels, channels, projects");
    return checks.map(({ id, uuid, slug }, index) => ({
      checkId: Number(id),
      uuid,
      slug,
      pingKey: projects.rows[index % names.length]?.ping_key ?? "",
      channel: names[index % names.length] ?? "",
    }));
  });
}

type CheckRow = { id: string; uuid: string; slug: string };

async function addChecks(
  client: pg.ClientBase,
  { count, graceSeconds, projectIds }: WatchedCheckOptions & { projectIds: readonly string[] },
): Promise<CheckRow[]> {
  const { rows } = await client.query<CheckRow>(
    `insert into checks (uuid, badge_uuid, unique_key,
      project_id, name, slug, tags, description, kind, timeout_seconds,
       grace_seconds, schedule, tz, manual_resume, methods, start_kw, success_kw, failure_kw, filter_subject,
       filter_body, filter_http_body, filter_default_fail, created_at, updated_at)
     select gen_random_uuid(), gen_random_uuid(), gen_random_uuid()::text,
       ($1::bigint[])[1 + i % $2::int], 'job ' || i, 'job-' || i, '', '',
       'simple', ${TIMEOUT_SECONDS}, $4, '* * * * *', 'UTC', false, '', '', '', '', false, false, false, false,
       now(), now()
     from generate_series(0, $3::int - 1) i order by i returning id, uuid, slug`,
    [projectIds, projectIds.length, count, graceSeconds],
  );
  await client.query(
    `insert into check_states (check_id, status, ping_count, coalesced_count, rate_count)
     select id, 'new', 0, 0, 0 from unnest($1::bigint[]) as n (id)`,
    [rows.map(({ id }) => id)],
  );
  return rows;
}

type ChannelsOf = WatchedCheckOptions & {
  projectIds: readonly string[];
  names: readonly string[];
  checkIds: string[];
};

async function addChannels(
  client: pg.ClientBase,
  { receiver, projectIds, names, checkIds }: ChannelsOf,
): Promise<void> {
  const made = await client.query<{ id: string }>(
    `insert into channels (uuid, project_id, kind, name, config, created_at)
     select gen_random_uuid(), project_id, 'webhook', name, config, now()
     from unnest($1::bigint[], $2::text[], $3::jsonb[]) with ordinality as n (project_id, name, config, nth)
     order by nth returning id`,
    [projectIds, names, names.map((name) => JSON.stringify(receiver.configFor(name)))],
  );
  await client.query(
    `insert into check_channels (check_id, channel_id)
     select id, ($2::bigint[])[1 + (nth - 1) % $3] from unnest($1::bigint[]) with ordinality as n (id, nth)`,
    [checkIds, made.rows.map(({ id }) => id), names.length],
  );
}

/** A channel without checks; returns its UUID. */
export async function addChannel(
  stage: Stage,
  { receiver, name }: { receiver: AlertReceiver; name: string },
): Promise<string> {
  const uuid = randomUUID();
  await stage.withClient((client) =>
    client.query(
      `insert into channels (uuid, project_id, kind, name, config, created_at)
       values ($1, $2, 'webhook', $3, $4, now())`,
      [uuid, stage.projectId, name, JSON.stringify(receiver.configFor(name))],
    ),
  );
  return uuid;
}

/** Sets the deadlines of the checks, evenly between two instants. Returns them in the order of the checks. */
export async function expectBetween(
  stage: Stage,
  watched: readonly WatchedCheck[],
  { from, to, graceSeconds }: { from: number; to: number; graceSeconds: number },
): Promise<number[]> {
  const deadlines = watched.map((_, index) => Math.round(from + ((to - from) * index) / watched.length));
  await stage.withClient((client) =>
    client.query(
      `with due as (
         select id, to_timestamp(at_ms / 1000.0) as at
         from unnest($1::bigint[], $2::float8[]) as n (id, at_ms) order by id
       ), timed as (
         update checks c set grace_seconds = $3 from due where c.id = due.id
       )
       update check_states s set status = 'up', down_at = due.at, sweep_at = due.at, held_until_at = null,
         last_ping_at = due.at - make_interval(secs => $3 + ${TIMEOUT_SECONDS}),
         newest_at = due.at - make_interval(secs => $3 + ${TIMEOUT_SECONDS}),
         last_start_at = null, command_at = null, expect_from_at = null, silence_deadline_at = null,
         silence_from = null
       from due where s.check_id = due.id`,
      [watched.map(({ checkId }) => checkId), deadlines, graceSeconds],
    ),
  );
  return deadlines;
}
