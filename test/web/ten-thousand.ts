// A project with thousands of checks in every state, written by a few statements: what a page of it costs is measured
// on this.
import type { Database } from "../../src/store/db.ts";

/** Adds so many checks to a project: most up, some of every other state, a few runs and flips each. */
export async function fillProject(
  db: Database,
  { projectId, count }: { projectId: number; count: number },
): Promise<void> {
  const { pool } = db;
  await pool.query(
    `insert into checks (uuid, badge_uuid, unique_key,
      project_id, name, slug, tags, description, kind, timeout_seconds,
        grace_seconds, schedule, tz, manual_resume, methods, start_kw, success_kw, failure_kw, filter_subject,
        filter_body, filter_http_body, filter_default_fail, created_at, updated_at)
      select gen_random_uuid(), gen_random_uuid(), gen_random_uuid()::text,
        $1, 'job-' || n || '-of-the-night', 'job-' || n,
        'team-' || n % 40 || ' ' || (array['prod', 'db', 'etl', 'mail'])[1 + n % 4], '',
        case when n % 3 = 0 then 'cron' else 'simple' end, 3600, 1200,
        n % 60 || ' ' || n % 24 || ' * * *', 'Europe/Riga', false, '', '', '', '', false, false, false, false,
        now() - interval '90 days', now() - interval '30 days'
      from generate_series(1, $2::int) as n`,
    [projectId, count],
  );
  // Where the deadline is written below without asking a schedule, there must be none.
  await pool.query("update checks set kind = 'simple' where project_id = $1 and id % 100 = 4", [projectId]);
  await pool.query(
    `insert into check_states (check_id, status, last_ping_at, last_start_at, newest_at, down_at, sweep_at,
        last_duration_ms, ping_count, coalesced_count, rate_count)
      select c.id, st.status, p.at, case when c.id % 50 = 7 then now() - interval '1 minute' end, p.at,
        case when st.status = 'up' then d.at end, case when st.status = 'up' then d.at end, 12000 + c.id % 1000, 40, 0, 0
      from checks c
      cross join lateral (select case when c.id % 100 = 1 then 'down' when c.id % 100 = 2 then 'paused'
        when c.id % 100 = 3 then 'new' else 'up' end as status) as st
      cross join lateral (select now() - (case when c.id % 100 = 4 then interval '70 minutes'
        else (c.id % 50) * interval '1 minute' end) as at) as p
      -- A run in progress has to end within the grace time.
      cross join lateral (select case when c.id % 50 = 7 then now() + interval '19 minutes'
        else p.at + interval '80 minutes' end as at) as d
      where c.project_id = $1`,
    [projectId],
  );
  await pool.query(
    `insert into pings (at, check_id, n, duration_ms, kind, scheme, method, ua)
      select now() - (40 - n) * interval '1 hour', c.id, n, 12000 + (c.id + n) % 4000,
        case when (c.id + n) % 37 = 0 then 'f' else 's' end::"char", 'https', 'GET', 'curl'
      from checks c cross join generate_series(1, 40) as n where c.project_id = $1`,
    [projectId],
  );
  await pool.query(
    `insert into flips (check_id, at, from_status, to_status, reason)
      select c.id, now() - (5 - n) * interval '2 hours', case when n % 2 = 0 then 'down' else 'up' end,
        case when n % 2 = 0 then 'up' else 'down' end, case when n % 2 = 0 then 'success' else 'timeout' end
      from checks c cross join generate_series(1, 3) as n where c.project_id = $1 and c.id % 10 = 1`,
    [projectId],
  );
  // The database may be analyzing the same tables by itself; that is waited for, however long it takes.
  await pool.query("set local lock_timeout = 0; analyze checks, check_states, pings, flips, check_channels");
}
