// The plans of the hottest statements, on filled tables: each must use its index, with custom and generic plans. The
// statements are captured from the functions that send them.
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NEW_STATE } from "../../src/core/state.ts";
import { claimAlerts, hasUnplannedAlerts, holdAlerts, markPlanned } from "../../src/store/alerts.ts";
import { findKeysWithChecks, findKeyWithProject } from "../../src/store/api-keys.ts";
import { listAssignmentsOfChecks } from "../../src/store/channels.ts";
import { listChangedChecks, listScrapedChecks, tallyStatuses } from "../../src/store/check-lists.ts";
import {
  findCheckByUuid,
  findChecksByIds,
  findChecksBySlug,
  findDueStates,
  findOldestMatch,
  findUuidByUniqueKey,
  listChecks,
  listDeletedChecks,
  listTags,
  lockStates,
  moveSweep,
  readListVersion,
  writeStates,
} from "../../src/store/checks.ts";
import { statement } from "../../src/store/db.ts";
import {
  claimMessages,
  findAlertFacts,
  findGroupFacts,
  findWaitingChannels,
  listDeliveriesOfFlip,
  listGroupLines,
  settleClaimed,
} from "../../src/store/deliveries.ts";
import { listFlips, listNewestFlips, pruneFlips } from "../../src/store/flips.ts";
import { findBody, findPing, listPings, trimBodies, trimPings } from "../../src/store/pings.ts";
import {
  findIncidentsByKey,
  findLastIncidents,
  insertAlertDeliveries,
  hastenGroups,
  listOpenings,
  listOverIncidents,
  listParents,
  listQueuedChecks,
  listRecipients,
  lockGroupQueues,
  removeOpenings,
  rescheduleGroups,
  resolveIncidents,
  retractAlertDeliveries,
} from "../../src/store/planning.ts";
import { listPolicies } from "../../src/store/policies.ts";
import { listPackedRuns, pruneRunChunks, trimRunChunks } from "../../src/store/runs.ts";
import { findLastSuccesses, listCurrentSilences } from "../../src/store/silences.ts";
import {
  claimDueIncidents,
  claimEndedWindows,
  hasDueSteps,
  insertRepeats,
  listOpenAlerts,
  listOpenAlertsOfProject,
} from "../../src/store/steps.ts";
import type { Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON } from "../support/sample.ts";

const database = useDatabase();

const CHECK_COUNT = 50_000;
/** Four alerts of each of 5000 checks, in an incident each. The last one of every tenth check is open. */
const ALERTS = `generate_series(1, 20000) i, lateral (
    select i > 15000 and i % 10 = 0 as is_open, not (i > 15000 and i % 100 = 0) as is_planned
  ) as a`;
const FILL = `
  insert into accounts (uuid, email, name, is_operator, created_at)
    values (gen_random_uuid(), 'a@example.org', '', false, '2026-01-01');
  insert into projects (uuid, name, ping_key, badge_key, created_at)
    select gen_random_uuid(), '', 'key' || i, i, '2026-01-01' from generate_series(1, 500) i;
  insert into members (project_id, account_id, role, created_at)
    select i, 1, 'owner', '2026-01-01' from generate_series(1, 500) i;
  insert into api_keys (project_id, kind, name, prefix, digest, created_at)
    select i % 500 + 1, 'readWrite', '', '', sha256(i::text::bytea), '2026-01-01' from generate_series(1, 5000) i;
  insert into checks (uuid, badge_uuid, unique_key,
    project_id, name, slug, tags, description, kind, timeout_seconds,
      grace_seconds, schedule, tz, manual_resume, methods, start_kw, success_kw, failure_kw, filter_subject,
      filter_body, filter_http_body, filter_default_fail, created_at, updated_at, deleted_at)
    select gen_random_uuid(), gen_random_uuid(), gen_random_uuid()::text,
      i % 500 + 1, 'job ' || i, 'job-' || i, '', '', 'simple', 3600,
      600, '', 'UTC', false, '', '', '', '', false, false, false, false, '2026-01-01', '2026-01-01',
      case when i % 50 = 1 then timestamptz '2026-11-17' end
    from generate_series(1, ${CHECK_COUNT}) i;
  insert into check_states (check_id, status, ping_count, coalesced_count, rate_count, down_at, sweep_at)
    select i, 'up', 3, 0, 0, at, at
    from generate_series(1, ${CHECK_COUNT}) i, lateral (select timestamptz '2026-11-16' + i * interval '1 s' as at) a;
  insert into pings (at, check_id, n, kind, scheme, method, ua)
    select '2026-11-16', i % ${CHECK_COUNT} + 1, i / ${CHECK_COUNT} + 1, 's', 'http', 'GET', ''
    from generate_series(1, ${CHECK_COUNT * 3}) i;
  insert into ping_bodies (check_id, n, at, body)
    select i % 5000 + 1, i / 5000 + 1, '2026-11-16', 'x' from generate_series(1, 20000) i;
  insert into run_chunks (from_at, to_at, check_id, run_count, runs)
    select '2026-11-01', '2026-11-02', i % 5000 + 1, 0, '' from generate_series(1, 20000) i;
  insert into flips (check_id, at, from_status, to_status, reason)
    select i % 5000 + 1, timestamptz '2026-11-16' + i * interval '1 s', 'up', 'down', 'fail'
    from generate_series(1, 20000) i;
  insert into deliveries (kind, dedupe_key, channel_id, check_id, flip_id, state, created_at, attempt_count,
      next_try_at, settled_at)
    select 'flip', gen_random_uuid(), i % 100, i % 5000 + 1, i, case when i % 10 = 0 then 'pending' else 'sent' end,
      '2026-11-16', 0, case when i % 10 = 0 then timestamptz '2026-11-16' + i * interval '1 s' end,
      case when i % 10 > 0 then timestamptz '2026-11-16' end
    from generate_series(1, 20000) i;
  insert into channels (uuid, project_id, kind, name, config, created_at)
    select gen_random_uuid(), i % 500 + 1, 'webhook', '', '{}', '2026-01-01' from generate_series(1, 20000) i;
  insert into check_channels (check_id, channel_id)
    select i, i % 20000 + 1 from generate_series(1, ${CHECK_COUNT}) i;
  insert into accounts (uuid, email, name, is_operator, created_at)
    select gen_random_uuid(), i || '@example.org', '', false, '2026-01-01' from generate_series(1, 5000) i;
  insert into projects (uuid, name, ping_key, badge_key, created_at)
    select gen_random_uuid(), '', 'key' || i, i, '2026-01-01' from generate_series(501, 5000) i;
  insert into incidents (project_id, number, key, state, severity, opened_at, resolved_at, next_step_at, reopen_count)
    select i % 500 + 1, i, case when i % 7 = 0 then 'tag:db' end, case when is_open then 'open' else 'resolved' end,
      'normal', '2026-11-16', case when not is_open then timestamptz '2026-11-17' end,
      case when is_open then timestamptz '2026-11-17' + i * interval '1 s' end, 0
    from ${ALERTS};
  insert into incident_events (incident_id, at, kind, detail)
    select i, '2026-11-16', 'reopened', '{}' from ${ALERTS};
  insert into alerts (check_id, incident_id, cause, opened_at, opened_flip_id, closed_at, close_cause, closed_flip_id,
      notified_at, planned_at, plan_at)
    select i % 5000 + 1, case when is_planned then i end, 'missed', at, i, case when not is_open then at end,
      case when not is_open then 'recovered' end, case when not is_open then i + 1 end,
      case when is_planned then at end, case when is_planned then at end, to_timestamp(0)
    from ${ALERTS}, lateral (select timestamptz '2026-11-16' + i * interval '1 s' as at) as t;
  insert into deliveries (kind, dedupe_key, channel_id, check_id, flip_id, alert_id, incident_id, state, created_at,
      attempt_count, settled_at)
    select case when is_alone then 'flip' else 'group' end, gen_random_uuid(), i % 100,
      case when is_alone then i % 5000 + 1 end, case when is_alone then i end, case when is_alone then i end, i, 'sent',
      '2026-11-16', 1, '2026-11-16'
    from ${ALERTS}, lateral (select i % 5 > 0 as is_alone) as t;
  insert into delivery_alerts (delivery_id, alert_id, change)
    select d.id, d.incident_id, change from deliveries d, unnest(array['opened', 'closed']) as change
    where d.kind = 'group';
  insert into silences (uuid, project_id, tag, reason, account_id, created_at, from_at, until_at, until_success,
      hold_after_seconds, ended_at, ends_at, version)
    select gen_random_uuid(), i % 500 + 1, 'db', '', i, '2026-11-16', '2026-11-16', '2026-11-17', false, 600,
      case when i % 10 > 0 then timestamptz '2026-11-16' end,
      case when i % 10 = 0 then timestamptz '2026-11-17' end, 1
    from generate_series(1, 5000) i;
  insert into check_parents (check_id, parent_id) select i, i + 500 from generate_series(1, 5000) i;
  insert into tag_rules (project_id, position, tag, policy, channel_ids)
    select i % 500 + 1, i / 500, 'db', '{}', array[i] from generate_series(1, 5000) i;
  insert into fire_drills (uuid, project_id, drill_project_id, check_id, as_name, is_sent, is_scheduled, notes,
      started_at, deadline_at, ended_at, outcome)
    select gen_random_uuid(), i % 500 + 1, i, 1000000 + i, '', false, false, '{}', at, at, at, 'ok'
    from generate_series(1, 5000) i, lateral (select timestamptz '2026-11-16' as at) a;
  vacuum analyze;`;

let client: pg.Client;
beforeAll(async () => {
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query("set synchronous_commit = off; set jit = off");
  for (const step of FILL.split(";\n")) if (step.trim() !== "") await client.query(step);
}, 120_000);
afterAll(() => client.end());

type PlanNode = { "Node Type": string; "Index Name"?: string; "Relation Name"?: string; Plans?: PlanNode[] };

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

function element(item: unknown): string {
  if (item === null) return "null";
  return Buffer.isBuffer(item)
    ? `"\\\\x${item.toString("hex")}"`
    : `"${typeof item === "string" ? item : JSON.stringify(item)}"`;
}

/** A value as SQL; the values of these tests need no quoting inside an array. */
function literal(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return `'{${value.map(element).join(",")}}'`;
  if (Buffer.isBuffer(value)) return `'\\x${value.toString("hex")}'`;
  return typeof value === "string" ? `'${value}'` : JSON.stringify(value);
}

/** The plan of a function's statements: indexes used, and tables scanned sequentially. */
async function plansOf(mode: "custom" | "generic", work: (tx: Tx) => Promise<unknown>) {
  const nodes: PlanNode[] = [];
  await client.query(`set plan_cache_mode = force_${mode}_plan`);
  await client.query("begin");
  const explainAndRun = async (what: { text: string }, values: readonly unknown[]) => {
    await client.query(`prepare asked as ${what.text}`);
    const execute =
      values.length === 0 ? "execute asked" : `execute asked (${values.map(literal).join(", ")})`;
    const { rows } = await client.query(`explain (format json) ${execute}`);
    nodes.push(...nodesOf(rows[0]["QUERY PLAN"][0].Plan));
    const result = await client.query(execute);
    await client.query("deallocate asked");
    return { rows: result.rows, count: result.rowCount ?? 0 };
  };
  // One after the other: each needs several queries, and some functions send theirs at once.
  let last: Promise<unknown> = Promise.resolve();
  const explaining = {
    query: (what: { text: string }, values: readonly unknown[]) => {
      const answer = last.then(() => explainAndRun(what, values));
      last = answer;
      return answer;
    },
  };
  try {
    // The rows are not converted on this connection, so the function's result does not matter.
    await work(explaining as unknown as Tx);
  } finally {
    await client.query("rollback");
  }
  const indexes = nodes.flatMap((node) => node["Index Name"] ?? []);
  const scans = nodes.filter((node) => node["Node Type"] === "Seq Scan").map((node) => node["Relation Name"]);
  return {
    indexes: [...new Set(indexes)].toSorted(),
    scans,
    sorts: nodes.some((node) => node["Node Type"] === "Sort"),
  };
}

const IDS = Array.from({ length: 100 }, (_, i) => i * 499 + 1);
const uuid = async () =>
  (await client.query("select uuid from checks where id = 4321")).rows[0].uuid as string;
const states = IDS.map((checkId) => {
  return { checkId, state: NEW_STATE, downAt: null, sweepAt: null, lastSuccessN: null, today: null };
});

const SOME = IDS.slice(0, 5);
const PLANNED = SOME.map((id) => ({
  alertId: id,
  incidentId: id,
  notifiedAt: MONDAY_NOON,
  isDropped: false,
}));

const FOREIGN_KEY = statement({
  name: "foreign_key",
  text: "select 1 from only checks x where $1::bigint operator(pg_catalog.=) project_id for key share of x",
});

const CASES: [string, string[], (tx: Tx) => Promise<unknown>][] = [
  ["lock states", ["check_states_pkey"], (tx) => lockStates(tx, IDS)],
  ["write states", ["check_states_pkey"], (tx) => writeStates(tx, states)],
  ["read settings of a batch", ["checks_pkey"], (tx) => findChecksByIds(tx, IDS)],
  [
    "find due",
    ["check_states_sweep"],
    (tx) => findDueStates(tx, { through: MONDAY_NOON - 86_000_000, limit: 500 }),
  ],
  [
    "move the sweep",
    ["check_states_pkey"],
    (tx) =>
      moveSweep(
        tx,
        IDS.map((checkId) => ({ checkId, sweepAt: 0 })),
      ),
  ],
  [
    "find a check by uuid",
    ["check_states_pkey", "checks_uuid_key"],
    async (tx) => findCheckByUuid(tx, await uuid()),
  ],
  [
    "find a check by ping key and slug",
    ["check_states_pkey", "checks_slug", "projects_ping_key_key"],
    (tx) => findChecksBySlug(tx, { pingKey: "key322", slug: "job-321" }),
  ],
  [
    "list checks of a project",
    ["check_channels_pkey", "check_states_pkey", "checks_project"],
    (tx) =>
      listChecks(tx, {
        projectId: 7,
        page: { afterId: 1, limit: 2, bytesMax: 262_144 },
        withChannels: true,
      }),
  ],
  [
    "count the statuses of a project",
    ["check_states_pkey", "checks_project", "projects_badge_key_key"],
    (tx) => tallyStatuses(tx, { badgeKey: "7", tag: null, now: MONDAY_NOON }),
  ],
  [
    "count the statuses of a tag",
    ["check_states_pkey", "checks_project", "projects_badge_key_key"],
    (tx) => tallyStatuses(tx, { badgeKey: "7", tag: "db", now: MONDAY_NOON }),
  ],
  [
    "list checks for a scraper",
    ["check_states_pkey", "checks_project"],
    (tx) => listScrapedChecks(tx, { projectId: 7, afterId: 3, limit: 1_000 }),
  ],
  [
    "find a check by its unique key",
    ["checks_unique_key"],
    (tx) => findUuidByUniqueKey(tx, { key: "0123456789abcdef0123456789abcdef01234567", projectIds: [7] }),
  ],
  [
    "find a key and a check",
    [
      "api_keys_digest_key",
      "channels_pkey",
      "check_channels_pkey",
      "check_states_pkey",
      "checks_uuid_key",
      "projects_pkey",
    ],
    (tx) =>
      findKeysWithChecks(tx, {
        namedBy: "uuid",
        lookups: [
          { digests: [Buffer.alloc(32), Buffer.alloc(32, 1)], name: "00000000-0000-0000-0000-000000000000" },
        ],
      }),
  ],
  [
    "find a key and a check by its unique key",
    [
      "api_keys_digest_key",
      "channels_pkey",
      "check_channels_pkey",
      "check_states_pkey",
      "checks_unique_key",
      "projects_pkey",
    ],
    (tx) =>
      findKeysWithChecks(tx, {
        namedBy: "uniqueKey",
        lookups: [{ digests: [Buffer.alloc(32), Buffer.alloc(32, 1)], name: "0".repeat(40) }],
      }),
  ],
  [
    "tell whether a list has changed",
    ["channels_project", "check_states_pkey", "checks_project"],
    (tx) => readListVersion(tx, { projectId: 7 }),
  ],
  ["list tags of a project", ["checks_project"], (tx) => listTags(tx, { projectId: 7, limit: 10 })],
  [
    "list what was deleted in a project",
    ["checks_with_deleted"],
    (tx) => listDeletedChecks(tx, { projectId: 7, from: MONDAY_NOON, limit: 100 }),
  ],
  [
    // As PostgreSQL runs it for each deleted project.
    "what the foreign key asks of the checks of a project",
    ["checks_with_deleted"],
    (tx) => tx.query(FOREIGN_KEY, [7]),
  ],
  [
    "find an upsert's match",
    ["check_states_pkey", "checks_project"],
    (tx) => findOldestMatch(tx, { projectId: 7, criteria: { name: "job 6" } }),
  ],
  ["list pings", ["pings_check"], (tx) => listPings(tx, { checkId: 77, afterN: 0, limit: 100 })],
  ["find a ping", ["pings_check"], (tx) => findPing(tx, { checkId: 77, n: 2 })],
  [
    "trim pings",
    ["pings_check"],
    (tx) =>
      trimPings(
        tx,
        IDS.slice(0, 5).map((checkId) => ({ checkId, through: 1 })),
      ),
  ],
  ["find a body", ["ping_bodies_pkey"], (tx) => findBody(tx, { checkId: 77, n: 2 })],
  [
    "trim bodies",
    ["ping_bodies_pkey"],
    (tx) =>
      trimBodies(
        tx,
        IDS.slice(0, 5).map((checkId) => ({ checkId, through: 1, keepN: null })),
      ),
  ],
  [
    "list packed runs",
    ["run_chunks_check"],
    (tx) => listPackedRuns(tx, { checkId: 77, from: MONDAY_NOON, limit: 5_000 }),
  ],
  [
    "trim run chunks",
    ["run_chunks_check"],
    (tx) => trimRunChunks(tx, { checkIds: IDS.slice(0, 5), before: 0 }),
  ],
  [
    "prune run chunks",
    ["run_chunks_check"],
    (tx) => pruneRunChunks(tx, { checkIds: IDS.slice(0, 200), before: 0 }),
  ],
  [
    // Runs every second, while thousands of other projects are not watched.
    "find what has changed in watched projects",
    [
      "check_channels_pkey",
      "check_states_pkey",
      "checks_pkey",
      "checks_project",
      "flips_check",
      "pings_check",
    ],
    (tx) => listChangedChecks(tx, { projectIds: IDS.map((_, i) => i + 1), since: 3, limit: 100 }),
  ],
  [
    "find the last flips of projects",
    ["checks_pkey", "checks_project", "flips_check", "flips_pkey"],
    (tx) => listNewestFlips(tx, [7, 8, 9]),
  ],
  ["list flips", ["flips_check"], (tx) => listFlips(tx, { checkId: 77 })],
  ["prune flips", ["flips_pkey"], (tx) => pruneFlips(tx, { before: 0, limit: 100 })],
  [
    "find a key",
    ["api_keys_digest_key", "projects_pkey"],
    (tx) => findKeyWithProject(tx, [Buffer.alloc(32), Buffer.alloc(32, 1)]),
  ],
  [
    "channels of a batch",
    ["channels_pkey", "check_channels_pkey"],
    (tx) => listAssignmentsOfChecks(tx, IDS.slice(0, 20)),
  ],
  [
    "owe alerts",
    [
      "channels_pkey",
      "channels_project",
      "check_channels_pkey",
      "deliveries_alert_once",
      "deliveries_flip_once",
      "fire_drills_check",
    ],
    (tx) =>
      insertAlertDeliveries(tx, {
        news: IDS.slice(0, 20).map((checkId) => ({
          alertId: checkId,
          incidentId: checkId,
          checkId,
          flipId: 100_000 + checkId,
          isClosing: false,
        })),
        added: [],
        at: MONDAY_NOON,
      }),
  ],
  [
    "take flips back",
    ["channels_pkey", "deliveries_flip", "deliveries_pkey"],
    (tx) =>
      retractAlertDeliveries(tx, {
        alerts: [{ alertId: 4, flipId: 4, incidentId: 4 }],
        at: MONDAY_NOON,
      }),
  ],
  [
    "find channels with something to send",
    ["channels_pkey", "deliveries_due", "members_one_owner"],
    (tx) => findWaitingChannels(tx, { now: MONDAY_NOON, after: 0, limit: 100 }),
  ],
  [
    "claim deliveries",
    ["deliveries_due", "deliveries_in_turn", "deliveries_pkey"],
    (tx) =>
      claimMessages(tx, {
        now: MONDAY_NOON,
        allowances: new Map([
          [10, 4],
          [20, 4],
        ]),
        claimedBy: "00000000-0000-0000-0000-000000000000",
        leaseMs: 60_000,
        partsMax: 100,
      }),
  ],
  [
    "settle deliveries",
    ["deliveries_pkey"],
    (tx) =>
      settleClaimed(tx, {
        settlements: IDS.map((deliveryId) => ({
          deliveryId,
          claimedBy: "00000000-0000-0000-0000-000000000000",
          outcome: "sent",
          unbinds: false,
          answer: null,
          reason: null,
        })),
        at: MONDAY_NOON,
      }),
  ],
  ["list deliveries of a flip", ["deliveries_flip"], (tx) => listDeliveriesOfFlip(tx, 4)],
  ["whether alerts are unplanned", ["alerts_unplanned"], (tx) => hasUnplannedAlerts(tx, MONDAY_NOON)],
  [
    "claim alerts",
    ["alerts_unplanned", "checks_pkey"],
    (tx) => claimAlerts(tx, { now: MONDAY_NOON, limit: 20 }),
  ],
  ["mark alerts as planned", ["alerts_pkey"], (tx) => markPlanned(tx, PLANNED, MONDAY_NOON)],
  [
    "hold alerts",
    ["alerts_pkey"],
    (tx) =>
      holdAlerts(
        tx,
        SOME.map((alertId) => ({ alertId, until: MONDAY_NOON, rule: "silence", silenceId: 1 })),
      ),
  ],
  [
    "recipients of grouped alerts",
    ["channels_pkey", "channels_project", "check_channels_pkey"],
    (tx) =>
      listRecipients(tx, {
        alerts: SOME.map((id) => ({ alertId: id, checkId: id })),
        added: [{ alertId: 1, channelId: 7 }],
      }),
  ],
  ["group messages of incidents", ["deliveries_incident"], (tx) => lockGroupQueues(tx, SOME)],
  [
    "reschedule group messages",
    ["deliveries_incident"],
    (tx) =>
      rescheduleGroups(
        tx,
        SOME.map((incidentId) => ({ incidentId, dueAt: 0 })),
      ),
  ],
  [
    "hasten group messages",
    ["deliveries_pkey"],
    (tx) =>
      hastenGroups(
        tx,
        SOME.map((deliveryId) => ({ deliveryId, dueAt: 0 })),
      ),
  ],
  [
    "where alerts are listed as open",
    ["deliveries_pkey", "delivery_alerts_alert"],
    (tx) => listOpenings(tx, { alertIds: SOME, claimedAfter: MONDAY_NOON }),
  ],
  [
    "remove openings",
    ["deliveries_pkey", "delivery_alerts_pkey"],
    (tx) =>
      removeOpenings(tx, { openings: SOME.map((id) => ({ deliveryId: id, alertId: id })), at: MONDAY_NOON }),
  ],
  [
    "open incidents by key",
    ["incidents_open"],
    (tx) =>
      findIncidentsByKey(
        tx,
        SOME.map((id) => ({ projectId: (id % 500) + 1, key: "tag:db" })),
      ),
  ],
  [
    "last incidents of checks",
    ["alerts_check", "incident_events_incident", "incidents_pkey"],
    (tx) => findLastIncidents(tx, { checkIds: SOME, reopenedSince: 0 }),
  ],
  [
    "parents of checks",
    [
      "alerts_open",
      "channels_pkey",
      "check_channels_pkey",
      "check_states_pkey",
      "deliveries_flip",
      "deliveries_pkey",
      "delivery_alerts_alert",
      "incidents_pkey",
    ],
    (tx) => listParents(tx, SOME),
  ],
  [
    "whether incidents are over",
    ["alerts_incident"],
    (tx) => listOverIncidents(tx, { incidentIds: SOME, planningIds: [] }),
  ],
  ["resolve incidents", ["alerts_incident", "incidents_pkey"], (tx) => resolveIncidents(tx, SOME)],
  [
    "checks in unsent group messages",
    ["alerts_pkey", "deliveries_incident", "delivery_alerts_pkey", "incidents_pkey"],
    (tx) => listQueuedChecks(tx, SOME),
  ],
  ["whether steps are due", ["incidents_step", "silences_end"], (tx) => hasDueSteps(tx, MONDAY_NOON)],
  [
    "claim incidents with a step due",
    ["deliveries_incident", "incidents_step"],
    (tx) => claimDueIncidents(tx, { now: MONDAY_NOON + 86_400_000, limit: 20 }),
  ],
  [
    "open alerts of incidents",
    ["alerts_incident", "checks_pkey", "incidents_pkey"],
    (tx) => listOpenAlerts(tx, SOME),
  ],
  [
    "open alerts of a project",
    ["alerts_incident", "checks_pkey", "incidents_open"],
    (tx) => listOpenAlertsOfProject(tx, { projectId: 7, limit: 100 }),
  ],
  [
    "remind of alerts",
    [
      "alerts_pkey",
      "channels_pkey",
      "deliveries_flip",
      "deliveries_incident",
      "deliveries_pkey",
      "delivery_alerts_alert",
    ],
    (tx) => insertRepeats(tx, { alertIds: SOME, at: MONDAY_NOON }),
  ],
  [
    "claim silences that end",
    ["silences_end"],
    (tx) => claimEndedWindows(tx, { now: MONDAY_NOON + 86_400_000, limit: 20 }),
  ],
  [
    "silences of projects",
    ["accounts_pkey", "silences_project"],
    (tx) => listCurrentSilences(tx, { projectIds: [7, 8, 9], since: MONDAY_NOON }),
  ],
  [
    "policies of checks",
    ["check_parents_pkey", "checks_pkey", "projects_pkey", "tag_rules_pkey"],
    (tx) => listPolicies(tx, SOME),
  ],
  [
    "last successes",
    ["flips_check", "pings_check"],
    (tx) =>
      findLastSuccesses(
        tx,
        SOME.map((checkId) => ({ checkId, beforeAt: MONDAY_NOON })),
      ),
  ],
  [
    "facts about alerts",
    [
      "alerts_incident",
      "alerts_pkey",
      "check_parents_pkey",
      "checks_pkey",
      "incidents_pkey",
      "projects_pkey",
      "silences_pkey",
    ],
    (tx) => findAlertFacts(tx, SOME),
  ],
  [
    "facts about a group",
    [
      "alerts_check",
      "alerts_incident",
      "alerts_pkey",
      "check_parents_pkey",
      "checks_pkey",
      "deliveries_flip",
      "deliveries_incident",
      "delivery_alerts_pkey",
      "incidents_pkey",
      "projects_pkey",
    ],
    (tx) => findGroupFacts(tx, { incidentId: 19_995, channelId: 95, deliveryId: 39_995 }),
  ],
  [
    "checks of a group message",
    [
      "alerts_pkey",
      "channels_pkey",
      "checks_pkey",
      "deliveries_pkey",
      "delivery_alerts_alert",
      "delivery_alerts_pkey",
    ],
    (tx) => listGroupLines(tx, { deliveryId: 39_995, channelId: 95, limit: 20 }),
  ],
];

describe.each(["custom", "generic"] as const)("planned %s", (mode) => {
  test.each(CASES)("%s", async (_, indexes, work) => {
    const plan = await plansOf(mode, work);
    expect(plan.scans).toEqual([]);
    expect(plan.indexes).toEqual(indexes);
  });
});

test("the next due checks are read in the order of the index, without sorting all of them", async () => {
  for (const mode of ["custom", "generic"] as const) {
    const plan = await plansOf(mode, (tx) => findDueStates(tx, { through: MONDAY_NOON, limit: 500 }));
    expect(plan.sorts).toBe(false);
  }
});

test("what a channel has to be sent is read in the order of the index, without sorting all of it", async () => {
  const claim = (tx: Tx) =>
    claimMessages(tx, {
      now: MONDAY_NOON,
      allowances: new Map([[10, 4]]),
      claimedBy: "00000000-0000-0000-0000-000000000000",
      leaseMs: 60_000,
      partsMax: 100,
    });
  for (const mode of ["custom", "generic"] as const) expect((await plansOf(mode, claim)).sorts).toBe(false);
});

test("a plan without its index is noticed", async () => {
  await client.query("drop index pings_check");
  const plan = await plansOf("custom", (tx) => listPings(tx, { checkId: 77, afterN: 0, limit: 100 }));
  expect(plan.scans).toEqual(["pings"]);
});
