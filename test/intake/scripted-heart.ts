// A world for the heart of an intake: time that only the test moves, a database that hears beats as the test
// wants it to, spools that are only counted, and an intake on scripted ports.
import {
  type AttributedRefusals,
  endsGap,
  type HeartbeatAccepted,
  type HeartbeatRequest,
  type HeartbeatResult,
  type IntakeEntry,
  type Observation,
} from "../../src/core/watermark.ts";
import type { BatchSpool } from "../../src/intake/batches/dependencies.ts";
import { DatabaseClock } from "../../src/intake/clock.ts";
import type { HeartbeatDeps } from "../../src/intake/heartbeat.ts";
import type { LastHeartbeat } from "../../src/intake/last-heartbeat.ts";
import { createLog } from "../../src/lib/log.ts";
import { scripted, ScriptedSpool } from "./scripted-ports.ts";

/** When such a world begins, on the database's clock. */
export const T = Date.UTC(2026, 10, 16, 12);

function scriptedTime() {
  const time = { ms: 1_000, wall: T, databaseAt: T };
  return {
    monotonic: () => time.ms,
    wall: () => time.wall,
    look: () => ({ databaseAt: time.databaseAt, sentAtMs: time.ms, receivedAtMs: time.ms }),
    /** Time passes for everybody, and for some a little more. */
    pass: (ms: number, besides: { database?: number; wall?: number } = {}) => {
      time.ms += ms;
      time.wall += ms + (besides.wall ?? 0);
      time.databaseAt += ms + (besides.database ?? 0);
    },
  };
}

/** What the database says of the intake's batches, unless the test says otherwise. */
const LAST_SEQ = 1_000;

type Heard = HeartbeatRequest & { observed: Observation };

function scriptedBeats(look: () => { databaseAt: number; sentAtMs: number; receivedAtMs: number }) {
  const heard: Heard[] = [];
  const entered: IntakeEntry[] = [];
  const left: { intakeId: string; refused: readonly unknown[]; attributed?: AttributedRefusals }[] = [];
  const script = {
    fails: false,
    closed: false,
    /** The last sign of anybody's life before an intake enters. */
    enteredAfterAt: null as number | null,
    answer: {} as Partial<HeartbeatAccepted>,
    /** What happens inside the transaction, before the intake is asked. */
    meanwhile: (): void => {},
  };
  let newestBeatAt: number | null = null;
  let freshSinceAt = look().databaseAt;
  const enter: HeartbeatDeps["enter"] = async (entry) => {
    if (script.fails) throw new Error("away");
    entered.push(entry);
    script.closed = false;
    return { look: look(), lastBeatAt: script.enteredAfterAt ?? look().databaseAt - 100 };
  };
  const beat = async (request: HeartbeatRequest): Promise<HeartbeatResult> => {
    if (script.fails) throw new Error("away");
    if (script.closed) return { kind: "closed" };
    const at = look();
    script.meanwhile();
    const observed = await request.observe(at);
    heard.push({ ...request, observed });
    const { watermarkAt, acceptedUntilAt } = observed;
    const { lookedAt, confirmedSeq } = request;
    const isBehind = (script.answer.lastSeq ?? LAST_SEQ) < confirmedSeq;
    if (endsGap({ now: at.databaseAt, newestBeatAt, lookedAt, isBehind })) freshSinceAt = at.databaseAt;
    newestBeatAt = at.databaseAt;
    const plain = { others: [], lost: [], blind: [], visibility: { watermarkAt, blind: [] }, freshSinceAt };
    const beatAt = acceptedUntilAt ?? at.databaseAt;
    return { kind: "beaten", look: at, beatAt, lastSeq: LAST_SEQ, ...plain, ...script.answer };
  };
  const leave: HeartbeatDeps["leave"] = async (going) => left.push(going) > 0;
  return { heard, entered, left, script, operations: { enter, sendHeartbeat: beat, leave } };
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

/** Everything that a heart is made of; the intake has entered, and nobody has beaten before unless given. */
export function world(given: Partial<HeartbeatDeps> & { lastBeatAt?: number | null; isLate?: boolean } = {}) {
  const time = scriptedTime();
  const beats = scriptedBeats(time.look);
  const spools = countedSpools();
  const clock = new DatabaseClock(time.look(), time.monotonic);
  const { lastBeatAt = null, isLate = false, ...changes } = given;
  /** What the intake asks a heart; whoever makes one of these parts puts it in here. */
  const presence = { hasEntered: () => !isLate };
  const ports = scripted({ clock, hasEntered: () => presence.hasEntered() });
  const lines: string[] = [];
  const letGo: string[] = [];
  const noted: LastHeartbeat[] = [];
  const parts: HeartbeatDeps = {
    name: "host/1",
    leaseMs: 10_000,
    identity: { intakeId: ports.intake.state().confirmed.intakeId, spool: ports.spool },
    entered: isLate ? null : { look: time.look(), lastBeatAt },
    lastHeartbeat: { ms: time.monotonic(), isAlone: true },
    intake: ports.intake,
    clock,
    ...beats.operations,
    openSpool: spools.openSpool,
    closeSpool: spools.closeSpool,
    spoolTrouble: () => null,
    spoolFill: () => 0,
    findOrphans: async () => ({ gone: [], broken: [] }),
    releaseIntakes: async (intakeIds) => void letGo.push(...intakeIds),
    noteHeartbeat: (beat) => void noted.push(beat),
    log: createLog({ level: "info", destination: { write: (line) => lines.push(line) } }),
    monotonic: time.monotonic,
    wall: time.wall,
    ...changes,
  };
  const { heard, entered, left, script } = beats;
  const told = { lines, entered, left, letGo, noted };
  return { ...ports, ...told, clock, parts, pass: time.pass, heard, script, spools, presence };
}
