// Compares acknowledged signals with the database: every signal once, with its kind, its run ID and its body, and the
// numbers of each check without gap or repetition.
import type pg from "pg";
import type { Tally } from "../scenario.ts";
import type { Ledger } from "./ledger.ts";
import { markerIn } from "./outgoing.ts";
import { type Entry, isAcknowledged } from "./send.ts";

type Row = { check_id: string; ua: string; kind: string; rid: string | null; digest: string | null };
type Found = { count: number; row: Row };

export type Verdict = {
  tally: Tally;
  /** Sent, and disconnected before a response: they may be recorded or not. */
  unanswered: number;
  /** Unexpected statuses. */
  otherAnswers: number;
  /** Got 503 although they should have been accepted. */
  wronglyRefused: number;
  /** Of those that got a response. */
  slowestMs: number;
  /** Checks whose pings are not numbered without gaps. */
  gaps: number;
  complaints: string[];
};

/** Number of examples in a complaint. */
const NAMED_MAX = 3;

export type Leniency = {
  /** Markers whose loss is caused and evaluated by the scenario. */
  forgiven: ReadonlySet<string>;
  /** Which signals may get 503. */
  mayRefuse: (entry: Entry) => boolean;
  /** With a log between: how often it has each signal, which is how often the signal must be recorded. */
  timesInLog?: ReadonlyMap<string, number>;
};

/** Answers of a router whose processes did not answer. */
const ROUTER_ANSWERS = [502, 504];

/** Compares all sent signals with all rows. */
export async function judge(
  client: pg.ClientBase,
  ledger: Ledger,
  { forgiven, mayRefuse, timesInLog }: Leniency,
): Promise<Verdict> {
  const { found, rows } = await readLog(client);
  const tally: Tally = {
    acknowledged: 0,
    recorded: rows,
    lost: 0,
    duplicated: countBeyond(found, timesInLog),
    refused: 0,
  };
  const unapplied = countUnapplied(found, timesInLog);
  const verdict: Verdict = {
    tally,
    unanswered: 0,
    otherAnswers: 0,
    wronglyRefused: 0,
    slowestMs: 0,
    gaps: 0,
    complaints: [],
  };
  const lost: string[] = [];
  const others: string[] = [];
  const refused: string[] = [];
  let sent = 0;
  for await (const entry of ledger.entries()) {
    sent += 1;
    if (entry.status !== 0) verdict.slowestMs = Math.max(verdict.slowestMs, entry.ms);
    if (isAcknowledged(entry)) {
      tally.acknowledged += 1;
      const flaw = flawOf(entry, found.get(entry.marker));
      if (flaw !== null && !forgiven.has(entry.marker)) lost.push(`${entry.marker} (${flaw})`);
    } else if (entry.status === 503) {
      tally.refused += 1;
      if (!mayRefuse(entry)) refused.push(describeRefusal(entry));
    } else if (entry.status === 0 || (timesInLog !== undefined && ROUTER_ANSWERS.includes(entry.status))) {
      verdict.unanswered += 1;
    } else others.push(`${entry.status} for ${entry.marker}`);
    found.delete(entry.marker);
  }
  tally.lost = lost.length;
  verdict.otherAnswers = others.length;
  verdict.wronglyRefused = refused.length;
  const { complaints } = verdict;
  if (sent === 0) complaints.push("nothing was sent, so the run proves nothing");
  if (lost.length > 0) complaints.push(`${lost.length} lost: ${someOf(lost)}`);
  if (tally.duplicated > 0) complaints.push(`${tally.duplicated} duplicated`);
  if (unapplied > 0) complaints.push(`${unapplied} signals are in the topic, but were not recorded`);
  if (others.length > 0) complaints.push(`${others.length} unexpected responses: ${someOf(others)}`);
  if (refused.length > 0) {
    complaints.push(`${refused.length} signals of known checks were rejected: ${someOf(refused)}`);
  }
  if (found.size > 0) complaints.push(`the log has ${found.size} signals that were not sent`);
  const flaws = await numberingFlaws(client);
  verdict.gaps = flaws.checks;
  complaints.push(...flaws.complaints);
  return verdict;
}

/** Rows beyond the first of a signal, or beyond as many as the topic has of it. */
function countBeyond(found: ReadonlyMap<string, Found>, timesInLog?: ReadonlyMap<string, number>): number {
  let beyond = 0;
  for (const [marker, { count }] of found) {
    beyond += Math.max(0, count - (timesInLog === undefined ? 1 : (timesInLog.get(marker) ?? 0)));
  }
  return beyond;
}

function countUnapplied(found: ReadonlyMap<string, Found>, timesInLog?: ReadonlyMap<string, number>): number {
  let unapplied = 0;
  for (const [marker, times] of timesInLog ?? []) {
    unapplied += Math.max(0, times - (found.get(marker)?.count ?? 0));
  }
  return unapplied;
}

export function someOf(list: readonly string[]): string {
  return list.slice(0, NAMED_MAX).join(", ") + (list.length > NAMED_MAX ? " …" : "");
}

function describeRefusal({ marker, sentAt, ms }: Entry): string {
  return `${marker} at ${new Date(sentAt).toISOString().slice(11, 23)} after ${ms} ms`;
}

async function readLog(client: pg.ClientBase): Promise<{ found: Map<string, Found>; rows: number }> {
  const { rows } = await client.query<Row>(`
    select p.check_id, p.ua, p.kind, p.rid, encode(sha256(b.body), 'hex') as digest
    from pings p left join ping_bodies b on b.check_id = p.check_id and b.n = p.n`);
  const found = new Map<string, Found>();
  let ours = 0;
  for (const row of rows) {
    const marker = markerIn(row.ua);
    if (marker === null) continue;
    ours += 1;
    const before = found.get(marker);
    if (before === undefined) found.set(marker, { count: 1, row });
    else before.count += 1;
  }
  return { found, rows: ours };
}

/** The problem of the row of an acknowledged signal; null if there is none. */
function flawOf(entry: Entry, found: Found | undefined): string | null {
  if (found === undefined) return "missing";
  const { row } = found;
  if (Number(row.check_id) !== entry.checkId) return "at another check";
  if (row.kind !== entry.kind) return `as ${row.kind} instead of ${entry.kind}`;
  if (row.rid !== entry.rid) return "with another run id";
  return row.digest === entry.digest ? null : "with another body";
}

/** n counts the pings of each check from 1, and the state has the number of pings and of those without a row. */
async function numberingFlaws(client: pg.ClientBase): Promise<{ checks: number; complaints: string[] }> {
  const { rows } = await client.query<{ check_id: string; rows: string; states: string; newest: string }>(`
    select s.check_id, count(p.n) as rows, s.ping_count - s.coalesced_count as states, coalesce(max(p.n), 0) as newest
    from check_states s left join pings p on p.check_id = s.check_id
    group by s.check_id, s.ping_count, s.coalesced_count
    having count(p.n) <> s.ping_count - s.coalesced_count
      or coalesce(max(p.n), 0) not between s.ping_count - s.coalesced_count and s.ping_count
      or count(distinct p.n) <> count(p.n) or coalesce(min(p.n), 1) <> 1`);
  if (rows.length === 0) return { checks: 0, complaints: [] };
  const [first] = rows;
  const complaint =
    `n has gaps or repeats at ${rows.length} checks: check ${first?.check_id} has ${first?.rows} rows up to ` +
    `${first?.newest}, and its state counts ${first?.states}`;
  return { checks: rows.length, complaints: [complaint] };
}
