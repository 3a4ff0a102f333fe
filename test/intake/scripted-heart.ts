// A world for the heart of an intake: time that only the test moves, a database that hears beats as the test
// wants it to, spools that are only counted, and an intake on scripted ports.
import type { Beaten, BeatRequest, BeatResult, Observation } from "../../src/core/machine/intake-beat.ts";
import type { HeartParts } from "../../src/intake/beat/parts.ts";
import { DatabaseClock } from "../../src/intake/clock.ts";
import type { BatchSpool } from "../../src/intake/direct/parts.ts";
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

type Heard = BeatRequest & { observed: Observation };

function scriptedBeats(look: () => { databaseAt: number; sentAtMs: number; receivedAtMs: number }) {
  const heard: Heard[] = [];
  const entered: string[] = [];
  const left: { intakeId: string; refused: readonly unknown[] }[] = [];
  const script = {
    fails: false,
    closed: false,
    answer: {} as Partial<Beaten>,
    /** What happens inside the transaction, before the intake is asked. */
    meanwhile: (): void => {},
  };
  const enter: HeartParts["enter"] = async ({ intakeId }) => {
    if (script.fails) throw new Error("away");
    entered.push(intakeId);
    script.closed = false;
    return { look: look(), lastBeatAt: look().databaseAt - 100 };
  };
  const beat = async (request: BeatRequest): Promise<BeatResult> => {
    if (script.fails) throw new Error("away");
    if (script.closed) return { kind: "closed" };
    const at = look();
    script.meanwhile();
    const observed = await request.observe(at);
    heard.push({ ...request, observed });
    const { watermarkAt, acceptedUntilAt } = observed;
    const plain = { others: [], lost: [], blind: [], sight: { watermarkAt, blind: [] } };
    const beatAt = acceptedUntilAt ?? at.databaseAt;
    return { kind: "beaten", look: at, beatAt, lastSeq: 1_000, ...plain, ...script.answer };
  };
  const leave: HeartParts["leave"] = async (going) => left.push(going) > 0;
  return { heard, entered, left, script, operations: { enter, beat, leave } };
}

function countedSpools() {
  const opened: { intakeId: string; isClosed: boolean }[] = [];
  const closedBefore: BatchSpool[] = [];
  const numbers = new Map<BatchSpool, number>();
  const openSpool: HeartParts["openSpool"] = async (intakeId) => {
    const spool = new ScriptedSpool();
    numbers.set(spool, opened.push({ intakeId, isClosed: false }) - 1);
    return spool;
  };
  const closeSpool: HeartParts["closeSpool"] = async (spool) => {
    const found = opened[numbers.get(spool) ?? -1];
    if (found === undefined) closedBefore.push(spool);
    else found.isClosed = true;
  };
  return { opened, closedBefore, openSpool, closeSpool, isNew: (spool: BatchSpool) => numbers.has(spool) };
}

/** Everything that a heart is made of; the intake has entered, and nobody has beaten before unless given. */
export function world(given: Partial<HeartParts> & { lastBeatAt?: number | null } = {}) {
  const time = scriptedTime();
  const beats = scriptedBeats(time.look);
  const spools = countedSpools();
  const clock = new DatabaseClock(time.look(), time.monotonic);
  const ports = scripted({ clock });
  const lines: string[] = [];
  const { lastBeatAt = null, ...changes } = given;
  const parts: HeartParts = {
    name: "host/1",
    leaseMs: 10_000,
    identity: { intakeId: ports.intake.state().confirmed.intakeId, spool: ports.spool },
    entered: { look: time.look(), lastBeatAt },
    intake: ports.intake,
    clock,
    ...beats.operations,
    openSpool: spools.openSpool,
    closeSpool: spools.closeSpool,
    spoolTrouble: () => null,
    findOrphans: async () => ({ gone: [], broken: [] }),
    log: createLog({ level: "info", destination: { write: (line) => lines.push(line) } }),
    monotonic: time.monotonic,
    wall: time.wall,
    ...changes,
  };
  const { heard, entered, left, script } = beats;
  return { ...ports, clock, parts, pass: time.pass, heard, script, lines, spools, entered, left };
}
