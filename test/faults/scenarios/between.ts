// What can happen to a check between receiving and applying its signal: it is deleted, paused, edited, or its slug is
// reused; and what can be wrong with a signal.
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { deleteCheck, pauseCheck, resumeCheck, updateCheck } from "../../../src/operations/checks.ts";
import { sampleProject } from "../../support/sample.ts";
import { conclude } from "../conclusion.ts";
import type { Result, Scenario } from "../scenario.ts";
import { type KindLetter, type Target, userAgentOf } from "../signals/outgoing.ts";
import { type Entry, isAcknowledged } from "../signals/send.ts";
import { databaseNow, untilDrained } from "../stage/intake-rows.ts";
import { leaveOrphan } from "../stage/orphan.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import type { DatabaseProxy } from "../stage/proxy.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { warmUp } from "../stage/warm-up.ts";

/** The watermark is unknown, so that no command fires a deadline. */
const UNSEEN = { watermarkAt: null, blind: [] };
const LOCKED_MS = 6_000;
const ANSWER_MS_MAX = 2_500;
const RATE = 60;
const DAY_MS = 86_400_000;

export const between: Scenario = {
  name: "between",
  about:
    "delete, pause, resume, edit, slug swap, new key, poison, abandoned lock, rate limit, T = D meanwhile",
  run: (run) => onStage(run, { checks: CAST.length + 10 }, play),
};

/** One check for each event. */
const CAST = [
  "deleted",
  "paused",
  "resumed",
  "edited",
  "swappedOne",
  "swappedOther",
  "renamed",
  "revoked",
  "poisoned",
  "locked",
  "busy",
  "inTime",
  "tooLate",
] as const;
type Role = (typeof CAST)[number];

type Play = {
  stage: Stage;
  proxy: DatabaseProxy;
  receiver: PingProcess;
  check: Record<Role, Target>;
  /** Signals whose outcome is evaluated here, and not by the ledger. */
  forgiven: Set<string>;
  complaints: string[];
};

async function play(stage: Stage): Promise<Result> {
  const proxy = await stage.proxy();
  const receiver = await stage.receiver({
    name: "one",
    databaseUrl: proxy.urlFor(stage.url),
    environment: { OVERDUE_SIGNALS_PER_MINUTE: String(RATE) },
  });
  const elsewhere = await sampleProject(stage.database);
  const key = { projectId: elsewhere.id, pingKey: elsewhere.pingKey ?? "" };
  const [revoked] = await stage.addChecksTo({ ...key, count: 1 });
  const check = Object.fromEntries(
    CAST.map((role, index) => [role, role === "revoked" ? revoked : stage.targets[index]]),
  ) as Play["check"];
  const all: Play = { stage, proxy, receiver, check, forgiven: new Set(), complaints: [] };
  await leaveAtDeadline(all);
  await receiver.start();
  await judgeDeadlines(all);
  await warmUp(stage, [receiver]);
  const sent = await sendWhileAway(all);
  await changeBetween(all);
  proxy.heal();
  const holdUp = await untilDrained(stage, { withinMs: 60_000 });
  if (holdUp !== null) all.complaints.push(holdUp);
  await judgeChanges(all, sent);
  await abandonLock(all);
  // The log of a check is deleted with it, including older rows.
  for await (const { marker, checkId } of stage.ledger.entries()) {
    if (checkId === check.deleted.checkId) all.forgiven.add(marker);
  }
  return conclude(stage, { complaints: all.complaints, forgiven: all.forgiven });
}

/**
 * Two checks are down because of a missed deadline; one success was received exactly at the deadline, one shortly
 * after.
 */
async function leaveAtDeadline({ stage, check }: Play): Promise<void> {
  const now = await stage.withClient(databaseNow);
  const deadlineAt = now - 60_000;
  await stage.withClient(async (client) => {
    for (const { checkId } of [check.inTime, check.tooLate]) {
      await client.query(
        `update check_states set status = 'down', last_ping_at = $2, newest_at = $2, ping_count = 0,
           silence_deadline_at = $3, silence_from = 'up' where check_id = $1`,
        [checkId, new Date(deadlineAt - DAY_MS), new Date(deadlineAt)],
      );
      await client.query(
        `insert into flips (check_id, at, from_status, to_status, reason) values ($1, $2, 'up', 'down', 'timeout')`,
        [checkId, new Date(deadlineAt)],
      );
    }
  });
  await leaveOrphan(stage, {
    folder: stage.subfolder("spool"),
    left: [
      { marker: "at-deadline", ...check.inTime, at: deadlineAt, body: null },
      { marker: "after-deadline", ...check.tooLate, at: deadlineAt + 1, body: null },
    ],
  });
}

async function judgeDeadlines({ stage, check, complaints }: Play): Promise<void> {
  const holdUp = await untilDrained(stage, { withinMs: 60_000 });
  if (holdUp !== null) complaints.push(`after replaying the spool: ${holdUp}`);
  const retracted = await stage.withClient(async (client) => {
    const { rows } = await client.query<{ check_id: string }>(
      "select check_id from flips where reason = 'timeout' and taken_back_at is not null",
    );
    return rows.map((row) => Number(row.check_id));
  });
  if (!retracted.includes(check.inTime.checkId)) {
    complaints.push("a success that was received exactly at the deadline did not retract the alert");
  }
  if (retracted.includes(check.tooLate.checkId)) {
    complaints.push("a success that was received after the deadline retracted the alert");
  }
}

type Sent = Record<Role, Entry[]>;

async function sendWhileAway(all: Play): Promise<Sent> {
  const { proxy, complaints } = all;
  proxy.cut();
  const sent = Object.fromEntries(CAST.map((role) => [role, [] as Entry[]])) as Sent;
  for (const role of CAST) {
    const bySlug = role === "swappedOne" || role === "renamed" || role === "revoked";
    const count = role === "busy" ? RATE + 20 : 3;
    for (let index = 0; index < count; index += 1) {
      const kind = role === "paused" && index === 1 ? "f" : "s";
      sent[role].push(await sendOne(all, { role, kind, bySlug }));
    }
  }
  const refused = Object.values(sent)
    .flat()
    .filter((entry) => !isAcknowledged(entry));
  if (refused.length > 0) complaints.push(`${refused.length} were not accepted while the link was cut`);
  return sent;
}

function sendOne(
  { stage, receiver, check }: Play,
  { role, kind, bySlug = false }: { role: Role; kind: KindLetter; bySlug?: boolean },
): Promise<Entry> {
  const signal = stage.ledger.maker.make(check[role], { kind, bySlug });
  return stage.ledger.send(role === "edited" ? { ...signal, method: "GET" } : signal, receiver.port);
}

/** The test itself reaches the database, bypassing the cut link. */
async function changeBetween({ stage, check }: Play): Promise<void> {
  const { database, projectId } = stage;
  // All signals were received before the commands.
  await sleep(50);
  const at = await stage.withClient(databaseNow);
  const name = (role: Role) => ({ projectId, uuid: check[role].uuid });
  const command = { at, accountId: null, visibility: UNSEEN };
  const edit = (params: object) => ({ params, channels: null, deriveSlug: false, ...command });
  await deleteCheck(database, name("deleted"));
  await pauseCheck(database, { ...name("paused"), ...command });
  await pauseCheck(database, { ...name("resumed"), ...command });
  await resumeCheck(database, { ...name("resumed"), ...command });
  await updateCheck(database, { ...name("edited"), ...edit({ methods: "POST" }) });
  await updateCheck(database, { ...name("swappedOne"), ...edit({ slug: check.swappedOther.slug }) });
  await updateCheck(database, { ...name("swappedOther"), ...edit({ slug: check.swappedOne.slug }) });
  await updateCheck(database, { ...name("renamed"), ...edit({ slug: "another-name" }) });
  await stage.withClient((client) =>
    client.query(`
      update projects set ping_key = 'another-key' where ping_key = '${check.revoked.pingKey}';
      create function poison() returns trigger language plpgsql as $$
      begin raise exception 'this value cannot be stored' using errcode = '22P05'; end $$;
      create trigger poison before insert on pings for each row
        when (new.check_id = ${check.poisoned.checkId}) execute function poison()`),
  );
}

type Logged = { check_id: string; kind: string; ua: string };

async function judgeChanges(
  { stage, receiver, check, forgiven, complaints }: Play,
  sent: Sent,
): Promise<void> {
  const rows = await stage.withClient(readLog);
  const rowsOf = (entry: Entry) => rows.filter(({ ua }) => ua === userAgentOf(entry.marker));
  const expectRows = (role: Role, { what, holds }: { what: string; holds: (row: Logged[]) => boolean }) => {
    const wrong = sent[role].filter((entry) => !holds(rowsOf(entry)));
    for (const { marker } of sent[role]) forgiven.add(marker);
    if (wrong.length > 0) complaints.push(`${wrong.length} of ${sent[role].length} signals of ${what}`);
  };
  const isAt = (role: Role, found: Logged[]) =>
    found.length === 1 && Number(found[0]?.check_id) === check[role].checkId;
  expectRows("deleted", { what: "a deleted check are in the log", holds: (found) => found.length === 0 });
  expectRows("renamed", {
    what: "a slug that no longer exists are in the log",
    holds: (found) => found.length === 0,
  });
  expectRows("revoked", {
    what: "a ping key that was revoked are in the log",
    holds: (found) => found.length === 0,
  });
  expectRows("poisoned", { what: "an invalid check are in the log", holds: (found) => found.length === 0 });
  expectRows("edited", {
    what: "a check that accepts only POST are not logged as ignored",
    holds: (found) => isAt("edited", found) && found[0]?.kind === "i",
  });
  expectRows("swappedOne", {
    what: "a slug that moved to another check are missing",
    holds: (found) => isAt("swappedOther", found),
  });
  await judgeDropped(
    { receiver, complaints },
    sent.deleted.length + sent.renamed.length + sent.revoked.length,
  );
  const states = await stage.withClient((client) => readStates(client));
  const statusOf = (role: Role) => states.get(check[role].checkId);
  if (statusOf("paused")?.status !== "paused") complaints.push("an older signal ended a pause");
  if (statusOf("resumed")?.status !== "new") complaints.push("an older signal changed a resumed check");
  judgeRate({ check, forgiven, complaints }, { rows, states, sent });
  await judgeInvalid({ stage, complaints }, sent.poisoned.length);
}

/** Beyond the limit a success leaves no row, but is counted. */
function judgeRate(
  { check, forgiven, complaints }: Pick<Play, "check" | "forgiven" | "complaints">,
  { rows, states, sent }: { rows: Logged[]; states: States; sent: Sent },
): void {
  const state = states.get(check.busy.checkId);
  const logged = rows.filter(({ check_id }) => Number(check_id) === check.busy.checkId).length;
  for (const { marker } of sent.busy) forgiven.add(marker);
  if (state === undefined || state.coalesced === 0) complaints.push("nothing was coalesced beyond the limit");
  // Two successes were sent before, when the process first saw the check.
  const total = logged + (state?.coalesced ?? 0);
  if (state !== undefined && state.received !== total) {
    complaints.push(
      `${total} signals of a busy check are logged or coalesced, but ${state.received} are counted`,
    );
  }
  if (total !== sent.busy.length + 2) {
    complaints.push(`${sent.busy.length + 2} signals of a busy check, but ${total} are logged or counted`);
  }
}

/** Acknowledged signals that cannot be recorded any more are at least counted. */
async function judgeDropped(
  { receiver, complaints }: Pick<Play, "receiver" | "complaints">,
  count: number,
): Promise<void> {
  const metrics = await receiver.metrics();
  const counted = [...metrics.matchAll(/^overdue_\w*dropped\w*(?:\{.*\})? (\d+)/gm)];
  const total = counted.reduce((sum, [, value]) => sum + Number(value), 0);
  if (total !== count) {
    complaints.push(
      `${count} acknowledged signals had lost their check, but the metrics count ${total} as dropped`,
    );
  }
}

async function judgeInvalid(
  { stage, complaints }: Pick<Play, "stage" | "complaints">,
  count: number,
): Promise<void> {
  const { rows } = await stage.withClient((client) =>
    client.query<{ reason: string }>("select reason from rejected_signals"),
  );
  if (rows.length !== count) complaints.push(`${count} invalid signals, but ${rows.length} are quarantined`);
  if (rows.some(({ reason }) => reason === ""))
    complaints.push("an invalid signal is quarantined without a reason");
}

async function readLog(client: pg.ClientBase): Promise<Logged[]> {
  return (await client.query<Logged>("select check_id, kind, ua from pings")).rows;
}

type States = Map<number, { status: string; coalesced: number; received: number }>;

async function readStates(client: pg.ClientBase): Promise<States> {
  const { rows } = await client.query<{
    check_id: string;
    status: string;
    coalesced_count: string;
    ping_count: string;
  }>("select check_id, status, coalesced_count, ping_count from check_states");
  return new Map(
    rows.map(({ check_id, status, coalesced_count, ping_count }) => [
      Number(check_id),
      { status, coalesced: Number(coalesced_count), received: Number(ping_count) },
    ]),
  );
}

/**
 * A session holds the row of a check: its senders and all others still get 200. Only starts are sent, because they
 * are always logged.
 */
async function abandonLock(all: Play): Promise<void> {
  const { stage, check, complaints } = all;
  const free = stage.targets.slice(CAST.length);
  await stage.withClient(async (client) => {
    await client.query("begin");
    await client.query("select 1 from check_states where check_id = $1 for update", [check.locked.checkId]);
    const untilMs = performance.now() + LOCKED_MS;
    while (performance.now() < untilMs) {
      const entries = await Promise.all([
        sendOne(all, { role: "locked", kind: "b" }),
        ...free.map((target) =>
          stage.ledger.send(stage.ledger.maker.make(target, { kind: "b" }), all.receiver.port),
        ),
      ]);
      const slow = entries.filter((entry) => !isAcknowledged(entry) || entry.ms > ANSWER_MS_MAX);
      if (slow.length > 0) {
        const [first] = slow;
        complaints.push(`while a row was locked, a signal got ${first?.status} after ${first?.ms} ms`);
        break;
      }
    }
    await client.query("rollback");
  });
}
