// Fuzzes the real process that receives mail: many malformed dialogues, a valid message among each twenty, and a verdict
// at the end. Valid messages go to checks of their own, so that what was recorded of them can be counted.
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { type Database, openDatabase, statement } from "../../src/store/db.ts";
import { type PingProcess, startPingProcess } from "../../test/support/ping-process.ts";
import { freePort } from "../../test/support/ports.ts";
import { startPostgres } from "../../test/support/postgres.ts";
import { embeddedPostgres } from "../../test/support/postgres-binaries.ts";
import { sampleCheck, sampleProject } from "../../test/support/sample.ts";
import { chanceOf } from "../chance.ts";
import type { Attempt } from "../ping/malformed.ts";
import { FAILURES_SHOWN } from "../tally.ts";
import { malformedDialogue, type MailTargets } from "./malformed.ts";

export type SmtpFuzzOptions = {
  seed: number;
  first: number;
  count: number;
  residentBytesMax?: number;
  minutesMax?: number;
  /** How often a valid message that is deferred (4xx) is sent again. */
  triesAgainMax?: number;
};

const DOMAIN = "ping.example.org";
const SLUG = "fuzzed";
const VALID_EVERY = 20;
const SENDERS = 16;
const TARGET_CHECKS = 20;
const VALID_CHECKS = 20;
const RESIDENT_BYTES_MAX = 768 * 1024 * 1024;
const MINUTES_MAX = 30;
/** After our last byte. An answer takes 30 seconds at most; a busy machine gets more. */
const CLOSED_WITHIN_MS = 45_000;
const QUIET_MS = 1_000;
const MEMORY_EVERY_MS = 250;
const AGAIN_AFTER_MS = 1_000;
const HEARD_LENGTH_MAX = 1_000_000;
/** Malformed dialogues come from one network, valid messages from another: limits are counted by network. */
const ATTACKER_ADDRESS = "127.0.0.2";
const BYSTANDER_ADDRESS = "127.0.0.3";
const ANSWER_LINE = /^[2-5]\d\d[ -]/;

type Dialogue =
  | { kind: "closed"; lines: readonly string[] }
  | { kind: "abandoned" }
  | { kind: "hung"; lines: readonly string[] }
  | { kind: "unreachable"; reason: string };

type Holding = {
  localAddress: string;
  /** Whether to wait for the greeting, as the protocol demands. */
  isPolite: boolean;
  /** After so long without an answer we send no more; null: the dialogue ends with QUIT. */
  quietMs: number | null;
  closedWithinMs?: number;
};

/** Sends all pieces without waiting for answers, and waits until the server closes the connection. */
export async function holdDialogue(
  port: number,
  { pieces, end }: Pick<Attempt, "pieces" | "end">,
  { localAddress, isPolite, quietMs, closedWithinMs = CLOSED_WITHIN_MS }: Holding,
): Promise<Dialogue> {
  const socket = connect({ port, host: "127.0.0.1", localAddress, noDelay: true, allowHalfOpen: true });
  const { promise, resolve } = Promise.withResolvers<Dialogue>();
  let heard = "";
  let isConnected = false;
  const lines = () => heard.split("\r\n").filter((line) => line !== "");
  socket.setEncoding("utf8");
  socket.on("connect", () => (isConnected = true));
  const greeted = Promise.withResolvers<void>();
  const quiet = quietMs === null ? null : setTimeout(() => socket.end(), quietMs);
  socket.on("data", (text: string) => {
    greeted.resolve();
    quiet?.refresh();
    if (heard.length < HEARD_LENGTH_MAX) heard += text;
  });
  socket.on("error", (error) => {
    // A server that has answered may reset a connection whose bytes it does not want.
    if (!isConnected) resolve({ kind: "unreachable", reason: error.message });
    socket.destroy();
  });
  socket.on("end", () => socket.end());
  socket.on("close", () => {
    greeted.resolve();
    resolve({ kind: "closed", lines: lines() });
  });
  const timer = setTimeout(() => {
    resolve({ kind: "hung", lines: lines() });
    socket.destroy();
  }, closedWithinMs);
  if (isPolite) await greeted.promise;
  for (const piece of pieces) {
    if (socket.writable) socket.write(piece);
    if (pieces.length > 1) await nextTurn();
  }
  quiet?.refresh();
  if (end === "abandon") {
    await nextTurn();
    resolve({ kind: "abandoned" });
    socket.destroy();
  }
  const result = await promise;
  clearTimeout(timer);
  if (quiet !== null) clearTimeout(quiet);
  return result;
}

/** Why a server must never let this happen; null when it may. */
export function faultOf(result: Dialogue): string | null {
  if (result.kind === "abandoned") return null;
  if (result.kind !== "closed") return JSON.stringify(result).slice(0, 400);
  const odd = result.lines.find((line) => !ANSWER_LINE.test(line));
  return odd === undefined ? null : `an answer without a code: ${odd.slice(0, 100)}`;
}

type Tally = {
  sent: number;
  valid: number;
  deferred: number;
  slowestMs: number;
  byFault: Map<string, Map<string, number>>;
  failures: string[];
  residentBytes: number;
};

type World = { process: PingProcess; mailPort: number; targets: MailTargets; validUuids: readonly string[] };

/** Prints what was answered and a verdict; true when nothing is wrong. */
export async function fuzzSmtp(options: SmtpFuzzOptions): Promise<boolean> {
  const { seed, first, count, residentBytesMax = RESIDENT_BYTES_MAX } = options;
  console.log(`fuzz smtp: seed ${seed}, dialogues ${first} to ${first + count - 1}`);
  const begin = performance.now();
  const postgres = await startPostgres({ binaries: embeddedPostgres() });
  const url = postgres.url();
  const db = openDatabase({ url, applicationName: "overdue-fuzz", onError: () => {} });
  const spool = mkdtempSync(join(tmpdir(), "overdue-fuzz-"));
  const removeSpool = () => rmSync(spool, { recursive: true, force: true });
  process.once("exit", removeSpool);
  let running: PingProcess | undefined;
  try {
    const mailPort = await freePort();
    const settings = {
      OVERDUE_SPOOL_FOLDER: spool,
      OVERDUE_PING_MAIL_LISTEN: `127.0.0.1:${mailPort}`,
      OVERDUE_PING_MAIL_DOMAIN: DOMAIN,
      OVERDUE_PING_MAIL_PEER_RATE: "0",
    };
    running = await startPingProcess({ databaseUrl: url, port: await freePort(), settings, roles: "smtp" });
    const world: World = { process: running, mailPort, ...(await makeChecks(db)) };
    const tally = await sendAll(world, { ...options, residentBytesMax });
    await judgeEnd(world, { tally, db });
    print(tally, { residentBytesMax, seconds: (performance.now() - begin) / 1_000 });
    return tally.failures.length === 0;
  } finally {
    if (running?.end() === null) await running.stop();
    await db.close();
    await postgres.stop();
    removeSpool();
    process.off("exit", removeSpool);
  }
}

async function makeChecks(db: Database): Promise<Pick<World, "targets" | "validUuids">> {
  const { id: projectId, pingKey } = await sampleProject(db);
  const reading = { filterSubject: true, filterBody: true, successKw: "done, ok", failureKw: "error" };
  const make = async (count: number, settings: object) => {
    const made = await Promise.all(
      Array.from({ length: count }, () => sampleCheck(db, { projectId, ...settings })),
    );
    return made.map(({ uuid }) => uuid);
  };
  const { uuid } = await sampleCheck(db, { projectId, slug: SLUG, ...reading });
  const uuids: MailTargets["uuids"] = [uuid, ...(await make(TARGET_CHECKS, reading))];
  return {
    targets: { domain: DOMAIN, uuids, pingKey: pingKey ?? "", slug: SLUG },
    validUuids: await make(VALID_CHECKS, {}),
  };
}

async function sendAll(
  world: World,
  options: SmtpFuzzOptions & { residentBytesMax: number },
): Promise<Tally> {
  const { seed, first, count, residentBytesMax, minutesMax = MINUTES_MAX, triesAgainMax = 0 } = options;
  const tally: Tally = {
    sent: 0,
    valid: 0,
    deferred: 0,
    slowestMs: 0,
    byFault: new Map(),
    failures: [],
    residentBytes: 0,
  };
  const giveUpAt = performance.now() + minutesMax * 60_000;
  const watch = setInterval(() => void watchMemory(world, { tally, residentBytesMax }), MEMORY_EVERY_MS);
  let next = first;
  const sender = async () => {
    while (next < first + count && tally.failures.length < FAILURES_SHOWN) {
      if (world.process.end() !== null || performance.now() > giveUpAt) return;
      const number = next;
      next += 1;
      tally.sent += 1;
      if (number % VALID_EVERY === 0) await sendValid(world, { number, tally, triesAgainMax });
      else await sendMalformed(world, { seed, number, tally });
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, sender));
  clearInterval(watch);
  await watchMemory(world, { tally, residentBytesMax });
  if (performance.now() > giveUpAt) tally.failures.push(`not done after ${minutesMax} minutes`);
  return tally;
}

async function sendMalformed(
  { mailPort, targets }: World,
  { seed, number, tally }: { seed: number; number: number; tally: Tally },
): Promise<void> {
  const chance = chanceOf({ seed, number });
  const attempt = malformedDialogue(chance, targets);
  const quietMs = chance.oneIn(10) ? 0 : QUIET_MS;
  const holding = { localAddress: ATTACKER_ADDRESS, isPolite: !chance.oneIn(20), quietMs };
  const result = await holdDialogue(mailPort, attempt, holding);
  note(tally, attempt.fault, outcomeOf(result));
  const fault = faultOf(result);
  if (fault !== null) tally.failures.push(`dialogue ${number} (${attempt.fault}): ${fault}`);
}

/** What a mail program would send, in one piece; the last answer before the goodbye is that to the message. */
async function sendValid(
  { mailPort, validUuids }: World,
  { number, tally, triesAgainMax }: { number: number; tally: Tally; triesAgainMax: number },
): Promise<void> {
  const to = `${validUuids[(number / VALID_EVERY) % validUuids.length]}@${DOMAIN}`;
  const dialogue = `EHLO b\r\nMAIL FROM:<job@example.org>\r\nRCPT TO:<${to}>\r\nDATA\r\nSubject: done\r\n\r\nok\r\n.\r\nQUIT\r\n`;
  const attempt = { pieces: [Buffer.from(dialogue)], end: "finish" } as const;
  const holding = { localAddress: BYSTANDER_ADDRESS, isPolite: true, quietMs: null };
  for (let again = 0; ; again += 1) {
    const startedAt = performance.now();
    const result = await holdDialogue(mailPort, attempt, holding);
    tally.slowestMs = Math.max(tally.slowestMs, performance.now() - startedAt);
    const answer = result.kind === "closed" ? (result.lines.at(-2) ?? "") : "";
    if (answer.startsWith("250 OK")) {
      tally.valid += 1;
      return note(tally, "valid", "250");
    }
    const isDeferred = /^4\d\d/.test(answer);
    if (isDeferred) tally.deferred += 1;
    if (!isDeferred || again >= triesAgainMax) {
      note(tally, "valid", outcomeOf(result));
      tally.failures.push(`dialogue ${number}, valid, was not accepted: ${JSON.stringify(result)}`);
      return;
    }
    await pause(AGAIN_AFTER_MS);
  }
}

/** The codes of the last two answers: that to the message or command, and the goodbye. */
function outcomeOf(result: Dialogue): string {
  if (result.kind !== "closed") return result.kind;
  const codes = result.lines.map((line) => line.slice(0, 3)).slice(1);
  return codes.length === 0 ? "closed" : [...new Set(codes.slice(-2))].join("+");
}

function note(tally: Tally, fault: string, outcome: string): void {
  const mine = tally.byFault.get(fault) ?? new Map<string, number>();
  tally.byFault.set(fault, mine);
  mine.set(outcome, (mine.get(outcome) ?? 0) + 1);
}

async function watchMemory(
  world: World,
  { tally, residentBytesMax }: { tally: Tally; residentBytesMax: number },
): Promise<void> {
  if (world.process.end() !== null) return;
  const bytes = await world.process.residentBytes().catch(() => 0);
  tally.residentBytes = Math.max(tally.residentBytes, bytes);
  const complaint = `the process occupies more than ${megabytes(residentBytesMax)}`;
  if (bytes > residentBytesMax && !tally.failures.includes(complaint)) tally.failures.push(complaint);
}

const COUNT_RECORDED = statement<{ sum: number }>({
  name: "fuzz.count_recorded_mail",
  text: `select sum(s.ping_count)::bigint as sum
    from check_states s join checks c on c.id = s.check_id where c.uuid = any ($1::uuid[])`,
});

/** Looks whether the process is alive, stops it, and counts what it recorded. */
async function judgeEnd(world: World, { tally, db }: { tally: Tally; db: Database }): Promise<void> {
  const { process: running, validUuids } = world;
  const end = running.end();
  if (end === null) {
    try {
      await running.stop();
    } catch (error) {
      tally.failures.push(`the process did not stop well: ${String(error)}`);
    }
  } else tally.failures.push(`the process died (${end}):\n${running.said()}`);
  if (running.said().includes('"level":"error"')) {
    tally.failures.push(`it logged an error:\n${running.said()}`);
  }
  const { rows } = await db.query(COUNT_RECORDED, [validUuids]);
  const recorded = rows[0]?.sum ?? 0;
  if (recorded < tally.valid || recorded > tally.valid + tally.deferred) {
    tally.failures.push(`${tally.valid} valid messages were answered 250, and ${recorded} are recorded`);
  }
}

function print(
  tally: Tally,
  { residentBytesMax, seconds }: { residentBytesMax: number; seconds: number },
): void {
  const table = (counts: ReadonlyMap<string, number>) =>
    [...counts]
      .toSorted(([, one], [, other]) => other - one)
      .map(([outcome, count]) => `${outcome} ${count.toLocaleString("en")}`)
      .join(", ");
  const faults = [...tally.byFault].toSorted(([one], [other]) => (one < other ? -1 : 1));
  for (const [fault, counts] of faults) console.log(`  ${fault.padEnd(24)} ${table(counts)}`);
  const memory = `${megabytes(tally.residentBytes)} of at most ${megabytes(residentBytesMax)}`;
  const slowest = `the slowest took ${Math.round(tally.slowestMs)} ms`;
  console.log(`memory: ${memory}; ${tally.valid} valid messages answered 250 and recorded, ${slowest}`);
  for (const failure of tally.failures.slice(0, FAILURES_SHOWN)) console.log(`FAILED ${failure}`);
  const verdict = tally.failures.length === 0 ? "ok" : `${tally.failures.length} failures`;
  const rate = Math.round(tally.sent / seconds);
  console.log(
    `fuzz smtp: ${tally.sent.toLocaleString("en")} dialogues in ${Math.round(seconds)} s (${rate}/s), ${verdict}`,
  );
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MiB`;
}
