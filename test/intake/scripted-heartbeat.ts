// The dependencies of a heartbeat for tests: time that only the test advances, a scripted database, spools that are
// only counted, and an intake on scripted ports.
import {
  type AttributedRefusals,
  endsGap,
  hasLostBatches,
  type HeartbeatAccepted,
  type HeartbeatRequest,
  type HeartbeatResult,
  type IntakeEntry,
  type Observation,
} from "../../src/core/watermark.ts";
import type { BatchSpool } from "../../src/intake/recorder.ts";
import { DatabaseClock } from "../../src/core/database-clock.ts";
import type { HeartbeatDeps } from "../../src/intake/heartbeat.ts";
import type { LastHeartbeat } from "../../src/intake/intake-files.ts";
import { createLog } from "../../src/lib/log.ts";
import { scripted, ScriptedSpool } from "./scripted-ports.ts";
import { LANES } from "../../src/core/signal.ts";

/** The start time, on the database's clock. */
export const T = Date.UTC(2026, 10, 16, 12);

function scriptedTime() {
  const time = { ms: 1_000, wall: T, databaseAt: T };
  return {
    monotonic: () => time.ms,
    wall: () => time.wall,
    look: () => ({ databaseAt: time.databaseAt, sentAtMs: time.ms, receivedAtMs: time.ms }),
    /** Advances the time of all clocks, and of some a little more. */
    pass: (ms: number, besides: { database?: number; wall?: number } = {}) => {
      time.ms += ms;
      time.wall += ms + (besides.wall ?? 0);
      time.databaseAt += ms + (besides.database ?? 0);
    },
  };
}

/** The intake's newest batch in the database, unless the test says otherwise. */
const LAST_SEQS = Array.from({ length: LANES }, () => 1_000);

type SentRequest = HeartbeatRequest & { observed: Observation };

function scriptedHeartbeats(look: () => { databaseAt: number; sentAtMs: number; receivedAtMs: number }) {
  const requests: SentRequest[] = [];
  const entered: IntakeEntry[] = [];
  const left: { intakeId: string; refused: readonly unknown[]; attributed?: AttributedRefusals }[] = [];
  const script = {
    fails: false,
    closed: false,
    /** The last heartbeat of any intake before an intake registers. */
    enteredAfterAt: null as number | null,
    answer: {} as Partial<HeartbeatAccepted>,
    /** Called inside the transaction, before the intake is observed. */
    duringTransaction: (): void => {},
  };
  let newestHeartbeatAt: number | null = null;
  let freshSinceAt = look().databaseAt;
  const enter: HeartbeatDeps["enter"] = async (entry) => {
    if (script.fails) throw new Error("away");
    entered.push(entry);
    script.closed = false;
    return { look: look(), lastHeartbeatAt: script.enteredAfterAt ?? look().databaseAt - 100 };
  };
  const answerHeartbeat = async (request: HeartbeatRequest): Promise<HeartbeatResult> => {
    if (script.fails) throw new Error("away");
    if (script.closed) return { kind: "closed" };
    const at = look();
    script.duringTransaction();
    const observed = await request.observe(at);
    requests.push({ ...request, observed });
    const { watermarkAt, acceptedUntilAt } = observed;
    const { lookedAt, confirmedSeqs } = request;
    const isBehind = hasLostBatches(script.answer.lastSeqs ?? LAST_SEQS, confirmedSeqs);
    if (endsGap({ now: at.databaseAt, newestHeartbeatAt, lookedAt, isBehind })) freshSinceAt = at.databaseAt;
    newestHeartbeatAt = at.databaseAt;
    const plain = { others: [], lost: [], blind: [], visibility: { watermarkAt, blind: [] }, freshSinceAt };
    const heartbeatAt = acceptedUntilAt ?? at.databaseAt;
    return { kind: "accepted", look: at, heartbeatAt, lastSeqs: LAST_SEQS, ...plain, ...script.answer };
  };
  const leave: HeartbeatDeps["leave"] = async (going) => left.push(going) > 0;
  return { requests, entered, left, script, operations: { enter, sendHeartbeat: answerHeartbeat, leave } };
}

function countedSpools() {
  const opened: { intakeId: string; isClosed: boolean }[] = [];
  const closedBefore: BatchSpool[] = [];
  const numbers = new Map<BatchSpool, number>();
  const openSpool: HeartbeatDeps["openSpool"] = async (intakeId) => {
    const spool = new ScriptedSpool();
    numbers.set(spool, opened.push({ intakeId, isClosed: false }) - 1);
    return spool;
  };
  const closeSpool: HeartbeatDeps["closeSpool"] = async (spool) => {
    const found = opened[numbers.get(spool) ?? -1];
    if (found === undefined) closedBefore.push(spool);
    else found.isClosed = true;
    return { isRemoved: false };
  };
  return { opened, closedBefore, openSpool, closeSpool, isNew: (spool: BatchSpool) => numbers.has(spool) };
}

/** All dependencies of a heartbeat; the intake is registered, and there was no heartbeat before unless given. */
export function world(
  given: Partial<HeartbeatDeps> & { lastHeartbeatAt?: number | null; isLate?: boolean } = {},
) {
  const time = scriptedTime();
  const answers = scriptedHeartbeats(time.look);
  const spools = countedSpools();
  const clock = new DatabaseClock(time.look(), time.monotonic);
  const { lastHeartbeatAt = null, isLate = false, ...changes } = given;
  /** Called by the intake; a test that creates a heartbeat sets it. */
  const presence = { hasEntered: () => !isLate };
  const ports = scripted({ clock, hasEntered: () => presence.hasEntered() });
  const lines: string[] = [];
  const released: string[] = [];
  const noted: LastHeartbeat[] = [];
  const deps: HeartbeatDeps = {
    name: "host/1",
    leaseMs: 10_000,
    identity: { intakeId: ports.intake.state().confirmed.intakeId, spool: ports.spool },
    entered: isLate ? null : { look: time.look(), lastHeartbeatAt },
    lastHeartbeat: { ms: time.monotonic(), isAlone: true },
    intake: ports.intake,
    clock,
    ...answers.operations,
    openSpool: spools.openSpool,
    closeSpool: spools.closeSpool,
    spoolProblem: () => null,
    spoolFill: () => 0,
    findOrphans: async () => ({ gone: [], broken: [] }),
    releaseIntakes: async (intakeIds) => void released.push(...intakeIds),
    noteHeartbeat: (answerHeartbeat) => void noted.push(answerHeartbeat),
    log: createLog({ level: "info", destination: { write: (line) => lines.push(line) } }),
    monotonic: time.monotonic,
    wall: time.wall,
    ...changes,
  };
  const { requests, entered, left, script } = answers;
  const recorded = { lines, entered, left, released, noted };
  return { ...ports, ...recorded, clock, deps, pass: time.pass, requests, script, spools, presence };
}
