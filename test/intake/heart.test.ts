// The heart of an intake on a scripted database: what each beat says, that it is said until it was heard, what
// follows from the answers, and how an intake that was given up comes back.
import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Heartbeat, HeartbeatExchange } from "../../src/intake/heartbeat.ts";
import { T, world } from "./scripted-heart.ts";
import { signal } from "./scripted-ports.ts";

const LIMIT = { giveUpAtMs: Infinity };

/** A pulse that has entered and beats when the test says so. */
function pulsing(given: Parameters<typeof world>[0] = {}) {
  const all = world(given);
  const pulse = new HeartbeatExchange(all.parts);
  const { entered, identity } = all.parts;
  if (entered !== null) pulse.enter(identity.intakeId, entered);
  const tickFor = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 200) {
      all.pass(200);
      pulse.ticks.tick();
    }
  };
  return { ...all, pulse, tickFor };
}

const NO_REFUSALS = { targets: [], networks: [] };

describe("a beat", () => {
  test("vouches for everything up to a second ago", async () => {
    const { pulse, heard, tickFor } = pulsing();
    tickFor(1_000);
    expect(await pulse.sendHeartbeat(LIMIT)).toBe(true);
    expect(heard[0]?.observed).toEqual({
      watermarkAt: T,
      acceptedUntilAt: null,
      skippedMs: 0,
      unproven: [],
      refused: [],
      attributed: NO_REFUSALS,
      spoolEmpty: true,
      spoolFill: 0,
      signalsPerMinute: 0,
    });
  });

  test("tells how many signals were taken in the last minute, and none that was refused", async () => {
    const { pulse, heard, tickFor, intake, ping } = pulsing();
    await ping("1");
    await ping("2");
    tickFor(1_000);
    await pulse.sendHeartbeat(LIMIT);
    expect(heard[0]?.observed.signalsPerMinute).toBe(2);
    await intake.stop({ withinMs: 0 });
    await ping("1");
    tickFor(61_000);
    await pulse.sendHeartbeat(LIMIT);
    expect(heard[1]?.observed.signalsPerMinute).toBe(0);
  });

  test("is held by a signal that is not applied", async () => {
    const { pulse, heard, tickFor, intake, database, ping } = pulsing();
    database.behaviour = "away";
    const at = intake.now();
    await ping("1", { at });
    tickFor(5_000);
    await pulse.sendHeartbeat(LIMIT);
    expect(heard[0]?.observed).toMatchObject({ watermarkAt: at - 1_000, spoolEmpty: false });
  });

  test("stores a bounded part of many refusals, and vouches for nothing beyond it", async () => {
    const { pulse, heard, tickFor, intake } = pulsing();
    const at = intake.now();
    for (let n = 0; n < 5_000; n += 1) {
      const target = { by: "uuid", uuid: `check ${n}` } as const;
      // Five thousand networks would be noted by their block.
      intake.refused({ at: at + n, target, network: `192.0.2.${n % 50}` });
    }
    tickFor(10_000);
    for (let beats = 0; beats < 3; beats += 1) await pulse.sendHeartbeat(LIMIT);
    expect(heard.map(({ observed }) => observed.attributed?.targets.length)).toEqual([2_000, 2_000, 1_000]);
    expect(heard.map(({ observed }) => observed.watermarkAt)).toEqual([
      at + 2_000 - 1_000,
      at + 4_000 - 1_000,
      T + 9_000,
    ]);
  });

  test("says which pings were refused, without being held by them", async () => {
    const { pulse, heard, tickFor, intake, database, ping } = pulsing();
    database.behaviour = "away";
    await ping("1");
    database.behaviour = "answers";
    await expect.poll(() => intake.state().isSpooling).toBe(false);
    database.behaviour = "away";
    const at = intake.now();
    const stranger = { by: "uuid" as const, uuid: randomUUID() };
    expect(await ping("2", { at, target: stranger })).toBe("busy");
    database.behaviour = "answers";
    await expect.poll(() => intake.state().isSpooling).toBe(false);
    tickFor(2_000);
    await pulse.sendHeartbeat(LIMIT);
    const { watermarkAt, refused, attributed } = heard[0]?.observed ?? {};
    expect({ watermarkAt, refused }).toEqual({ watermarkAt: T + 1_000, refused: [] });
    expect(attributed).toEqual({ targets: [{ target: stranger, from: at, to: at }], networks: [] });
    await pulse.sendHeartbeat(LIMIT);
    expect(heard[1]?.observed.attributed).toEqual(NO_REFUSALS);
  });

  test("is held while nothing can be promised to anybody, and then says so", async () => {
    const { pulse, heard, tickFor, intake } = pulsing();
    const at = intake.now();
    intake.refused({ at, target: null, network: null });
    tickFor(2_000);
    await pulse.sendHeartbeat(LIMIT);
    expect(heard[0]?.observed).toMatchObject({ watermarkAt: at - 1_000, refused: [] });
    tickFor(3_000);
    await pulse.sendHeartbeat(LIMIT);
    expect(heard[1]?.observed).toMatchObject({ watermarkAt: T + 4_000, refused: [{ from: at, to: at }] });
    await pulse.sendHeartbeat(LIMIT);
    expect(heard[2]?.observed.refused).toEqual([]);
  });

  test("says for how long nobody listened before the first one, until that was heard", async () => {
    const { pulse, heard, script, tickFor } = pulsing({ lastBeatAt: T - 600_000 });
    script.fails = true;
    await expect(pulse.sendHeartbeat(LIMIT)).rejects.toThrow("away");
    script.fails = false;
    tickFor(400);
    await pulse.sendHeartbeat(LIMIT);
    expect(heard[0]).toMatchObject({
      beatAt: T - 600_000,
      observed: { unproven: [{ from: T - 600_000, to: T }] },
    });
    await pulse.sendHeartbeat(LIMIT);
    expect(heard[1]).toMatchObject({ beatAt: T + 400, observed: { unproven: [] } });
  });

  test("says when the process stood still, until that was heard", async () => {
    const { pulse, heard, script, pass, tickFor } = pulsing();
    await pulse.sendHeartbeat(LIMIT);
    tickFor(1_000);
    pass(20_000);
    script.fails = true;
    await expect(pulse.sendHeartbeat(LIMIT)).rejects.toThrow("away");
    pulse.ticks.tick();
    script.fails = false;
    tickFor(1_000);
    await pulse.sendHeartbeat(LIMIT);
    expect(heard[1]?.observed.unproven).toEqual([{ from: T + 1_000, to: T + 21_000 }]);
    await pulse.sendHeartbeat(LIMIT);
    expect(heard[2]?.observed.unproven).toEqual([]);
  });

  test("says so, too, when it stood still after it had looked at the clock", async () => {
    const { pulse, heard, script, pass, tickFor } = pulsing();
    await pulse.sendHeartbeat(LIMIT);
    tickFor(1_000);
    script.meanwhile = () => pass(4_000);
    await pulse.sendHeartbeat(LIMIT);
    expect(heard[1]?.observed.unproven).toEqual([{ from: T + 1_000, to: T + 5_000 }]);
  });

  test("while the database was away says nothing if the intake was there all the time", async () => {
    const { pulse, heard, tickFor } = pulsing();
    await pulse.sendHeartbeat(LIMIT);
    tickFor(60_000);
    await pulse.sendHeartbeat(LIMIT);
    expect(heard[1]).toMatchObject({ beatAt: T, observed: { unproven: [], skippedMs: 0 } });
  });

  test("tells the time that passed only for the database, and goes on from there", async () => {
    const { pulse, heard, pass, clock } = pulsing();
    await pulse.sendHeartbeat(LIMIT);
    // A suspended machine: its monotonic clock stands still.
    pass(200, { database: 3_600_000, wall: 3_600_000 });
    await pulse.sendHeartbeat(LIMIT);
    expect(heard[1]?.observed).toMatchObject({ skippedMs: 3_600_000, watermarkAt: T - 800 });
    expect(clock.now()).toBe(T + 3_600_200);
  });

  test("after a gap comes only when what lay in the sockets has been read", async () => {
    const { pulse, heard, pass, intake, database } = pulsing();
    await pulse.sendHeartbeat(LIMIT);
    database.delayMs = 1_000;
    pass(20_000);
    // A connection that waited is taken in one turn of the event loop, and read in the next.
    const reading = nextTurn()
      .then(() => nextTurn())
      .then(() => intake.accept(signal("waited", { at: T + 5 }), { create: false, network: null }));
    await pulse.sendHeartbeat(LIMIT);
    expect(heard[1]?.observed.watermarkAt).toBe(T + 5 - 1_000);
    await reading;
  });

  test("of an intake that listens no more stands still", async () => {
    const { pulse, heard, tickFor, intake } = pulsing();
    tickFor(1_000);
    pulse.acceptedUntilAt = intake.now();
    tickFor(5_000);
    await pulse.sendHeartbeat(LIMIT);
    expect(heard[0]?.observed).toMatchObject({ acceptedUntilAt: T + 1_000, watermarkAt: T });
  });
});

describe("the answer to a beat", () => {
  test("makes silence believable after a minute, and not before", async () => {
    const { pulse, tickFor } = pulsing();
    for (let second = 0; second < 60; second += 1) {
      await pulse.sendHeartbeat(LIMIT);
      expect(pulse.watch.visibility.watermarkAt).toBeNull();
      tickFor(1_000);
    }
    await pulse.sendHeartbeat(LIMIT);
    expect(pulse.watch.visibility.watermarkAt).toBe(T + 59_000);
    tickFor(4_000);
    await pulse.sendHeartbeat(LIMIT);
    expect(pulse.watch.visibility.watermarkAt).toBeNull();
  });

  test("that shows lost commits has them given again, and nothing is believed for a while", async () => {
    const { pulse, script, lines, intake, ping, tickFor, database } = pulsing();
    for (let second = 0; second < 70; second += 1) {
      await pulse.sendHeartbeat(LIMIT);
      tickFor(1_000);
    }
    await ping("1");
    await ping("2");
    const { intakeId } = intake.state().confirmed;
    database.lastSeq.set(intakeId, 1);
    database.applied.pop();
    script.answer = { lastSeq: 1 };
    await pulse.sendHeartbeat(LIMIT);
    expect(pulse.watch.visibility.watermarkAt).toBeNull();
    await expect.poll(() => database.uas()).toEqual(["1", "2"]);
    expect(lines.some((line) => line.includes("lost confirmed pings"))).toBe(true);
  });

  test("names who is watched, and since when", async () => {
    const other = { id: randomUUID(), name: "b", watermarkAt: T, leaseUntilAt: T + 10_000, beatAt: T };
    const { pulse, script, heard, tickFor } = pulsing();
    const say = (lastSeq: number) => {
      script.answer = { others: [{ ...other, lastSeq }] };
    };
    say(5);
    await pulse.sendHeartbeat(LIMIT);
    tickFor(2_000);
    await pulse.sendHeartbeat(LIMIT);
    expect(heard[1]).toMatchObject({ watchingSinceAt: T });
    expect(heard[1]?.signs).toEqual(new Map([[other.id, T]]));
    say(6);
    await pulse.sendHeartbeat(LIMIT);
    tickFor(2_000);
    await pulse.sendHeartbeat(LIMIT);
    expect(heard[3]?.signs).toEqual(new Map([[other.id, T + 2_000]]));
    tickFor(10_000);
    await pulse.sendHeartbeat(LIMIT);
    await pulse.sendHeartbeat(LIMIT);
    expect(heard.at(-1)?.watchingSinceAt).toBe(T + 14_000);
  });

  test("is told to the operator: who was lost, what was blind, who holds the watermark", async () => {
    const { pulse, script, lines, tickFor } = pulsing();
    const slow = {
      id: "slow-id",
      name: "slow",
      lastSeq: 1,
      watermarkAt: T - 61_000,
      beatAt: T,
      leaseUntilAt: T,
    };
    script.answer = {
      lost: [{ ...slow, name: "gone" }],
      blind: [{ from: T - 5, to: T, reason: "pings were rejected" }],
      others: [slow],
      visibility: { watermarkAt: slow.watermarkAt, blind: [] },
    };
    await pulse.sendHeartbeat(LIMIT);
    script.answer = { ...script.answer, lost: [], blind: [] };
    tickFor(1_000);
    await pulse.sendHeartbeat(LIMIT);
    const messages = lines.map((line) => JSON.parse(line)["msg"]);
    expect(messages).toEqual([
      "receiving process lost",
      "monitoring gap: pings could not be received",
      "the watermark is held back; alerts for missing pings are delayed",
    ]);
    expect(JSON.parse(lines[2] ?? "")).toMatchObject({ intakeId: "slow-id", name: "slow" });
    expect(pulse.counts).toMatchObject({ count: 2, lost: 1, blind: 1, watermarkLagMs: 62_000 });
  });

  test("that comes from a clock set back is told, and time stands still", async () => {
    const { pulse, pass, clock, lines } = pulsing();
    await pulse.sendHeartbeat(LIMIT);
    pass(1_000, { database: -300_000 });
    const before = clock.now();
    await pulse.sendHeartbeat(LIMIT);
    expect(lines.some((line) => line.includes("clock went back"))).toBe(true);
    pass(1_000);
    expect(clock.now()).toBe(before);
  });
});

describe("the heart", () => {
  const hearts: Heartbeat[] = [];
  afterEach(async () => {
    for (const heart of hearts.splice(0)) await heart.stop({ isEmpty: false });
  });

  async function living(given: Parameters<typeof world>[0] = {}) {
    const all = world(given);
    const heart = new Heartbeat(all.parts);
    all.presence.hasEntered = () => heart.hasEntered();
    hearts.push(heart);
    await all.intake.adopt();
    await heart.start();
    return { ...all, heart };
  }

  test("stores all refusals before it says goodbye, in as many beats as it takes", async () => {
    const { heart, heard, left, intake } = await living({ monotonic: () => performance.now() });
    const at = intake.now();
    for (let n = 0; n < 5_000; n += 1) {
      const target = { by: "uuid", uuid: `check ${n}` } as const;
      intake.refused({ at, target, network: `192.0.2.${n % 50}` });
    }
    await heart.stop({ isEmpty: true });
    const stored = heard.map(({ observed }) => observed.attributed?.targets.length ?? 0);
    const last = left[0]?.attributed?.targets.length ?? 0;
    expect(stored.reduce((sum, count) => sum + count, last)).toBe(5_000);
  });

  test("beats each second, through trouble, and says goodbye only when nothing is left", async () => {
    const { heart, heard, script, left, parts } = await living({ monotonic: () => performance.now() });
    await expect.poll(() => heard.length).toBeGreaterThanOrEqual(3);
    script.fails = true;
    await expect.poll(() => heart.state().failures).toBeGreaterThanOrEqual(1);
    script.fails = false;
    const before = heard.length;
    await expect.poll(() => heard.length).toBeGreaterThan(before);
    await heart.stop({ isEmpty: true });
    expect(heard.at(-1)?.observed.acceptedUntilAt).not.toBeNull();
    expect(left).toEqual([{ intakeId: parts.identity.intakeId, refused: [], attributed: NO_REFUSALS }]);
  });

  test("does not say goodbye while something is left", async () => {
    const { heart, left } = await living();
    await heart.stop({ isEmpty: false });
    expect(left).toEqual([]);
  });

  test("says once that the spool is filling, also while the database is away, and once that it has room", async () => {
    let fill = 0.49;
    const given = { spoolFill: () => fill, monotonic: () => performance.now() };
    const { heart, heard, script, lines } = await living(given);
    const said = (text: string) => lines.filter((line) => line.includes(text)).length;
    expect(heard[0]?.observed.spoolFill).toBe(0.49);
    script.fails = true;
    fill = 0.5;
    await expect.poll(() => said("the spool is filling")).toBe(1);
    await expect.poll(() => heart.state().failures).toBeGreaterThanOrEqual(2);
    script.fails = false;
    fill = 0.1;
    await expect.poll(() => said("the spool has free space again")).toBe(1);
    await expect.poll(() => heard.at(-1)?.observed.spoolFill).toBe(0.1);
    expect(said("the spool is filling")).toBe(1);
  });

  test("says once that the spool has no room, also when it was never half full", async () => {
    let fill = 1;
    const given = { spoolFill: () => fill, monotonic: () => performance.now() };
    const { lines } = await living(given);
    const said = (text: string) => lines.filter((line) => line.includes(text)).length;
    await expect.poll(() => said("the spool has no space left")).toBe(1);
    fill = 0;
    await expect.poll(() => said("the spool has free space again")).toBe(1);
    expect(said("the spool has no space left")).toBe(1);
    expect(said("the spool is filling")).toBe(0);
  });

  test("sees nothing and, as one of several, promises nothing when beats have failed for long", async () => {
    const other = { id: randomUUID(), name: "b", lastSeq: 1, watermarkAt: T, leaseUntilAt: T, beatAt: T };
    const { heart, script, pass } = await living();
    expect(heart.mayPromise()).toBe(true);
    pass(60_000);
    expect(heart.mayPromise()).toBe(true);
    script.answer = { others: [other] };
    await expect.poll(() => heart.state().count).toBeGreaterThan(1);
    expect(heart.mayPromise()).toBe(true);
    script.fails = true;
    pass(7_500);
    expect(heart.mayPromise()).toBe(false);
    expect(heart.visibility().watermarkAt).toBeNull();
  });

  test("enters anew under another id when it was given up, and leaves the old spool when that is drained", async () => {
    const { heart, script, spools, entered, intake, ping, database, parts } = await living();
    await ping("1");
    script.closed = true;
    await expect.poll(() => entered.length).toBe(1);
    const intakeId = entered[0]?.intakeId;
    await expect.poll(() => intake.state().confirmed.intakeId).toBe(intakeId);
    expect(heart.state().intakeId).toBe(intakeId);
    expect(spools.opened).toEqual([{ intakeId, isClosed: false }]);
    expect(spools.closedBefore).toEqual([parts.identity.spool]);
    expect(await ping("2")).toBe("recorded");
    expect(database.applied.map(({ seq }) => seq)).toEqual([1, 1]);
  });

  test("takes another spool when the one in use fails", async () => {
    const { parts, entered, spools, intake, ping, database, lines } = await living();
    expect(await ping("1")).toBe("recorded");
    parts.spoolTrouble = (spool) => (spools.isNew(spool) ? null : "the disk failed");
    await expect.poll(() => entered.length).toBe(1);
    await expect
      .poll(() => intake.state())
      .toMatchObject({ isSpooling: false, confirmed: { intakeId: entered[0]?.intakeId } });
    expect([spools.opened.length, spools.closedBefore.length]).toEqual([1, 1]);
    expect(lines.some((line) => line.includes("replacing it with a new one"))).toBe(true);
    database.behaviour = "away";
    expect(await ping("2")).toBe("recorded");
    await sleep(10);
    expect(entered).toHaveLength(1);
  });

  test("closes its old id when the file of its spool was removed, and not when the disk failed", async () => {
    for (const isRemoved of [true, false]) {
      const { parts, entered, spools, heard } = await living({ monotonic: () => performance.now() });
      const { closeSpool } = parts;
      parts.closeSpool = async (spool) => {
        await closeSpool(spool);
        return { isRemoved };
      };
      parts.spoolTrouble = (spool) => (spools.isNew(spool) ? null : "trouble");
      await expect.poll(() => entered.length).toBe(1);
      const before = heard.length;
      await expect.poll(() => heard.length).toBeGreaterThan(before + 2);
      const gone = heard.flatMap((one) => one.gone);
      expect(gone).toEqual(isRemoved ? [parts.identity.intakeId] : []);
    }
  });

  test("tells who is gone, once that is found out, and only until it was heard", async () => {
    const found = [{ gone: ["a"], broken: ["b"] }];
    const { heard, letGo } = await living({
      findOrphans: async () => found.shift() ?? { gone: [], broken: [] },
      monotonic: () => performance.now(),
    });
    await expect.poll(() => heard.length).toBeGreaterThan(2);
    expect(heard.filter(({ gone }) => gone.length > 0)).toHaveLength(1);
    expect(heard.find(({ gone }) => gone.length > 0)).toMatchObject({ gone: ["a"], broken: ["b"] });
    expect(letGo).toEqual(["a"]);
  });

  test("lets go of nobody while the database has not heard that it is gone", async () => {
    const { script, letGo, heart, heard } = await living({
      findOrphans: async () => ({ gone: ["a"], broken: [] }),
      monotonic: () => performance.now(),
    });
    script.fails = true;
    const before = letGo.length;
    await expect.poll(() => heart.state().failures).toBeGreaterThan(1);
    expect(letGo.length).toBe(before);
    script.fails = false;
    await expect.poll(() => letGo.length).toBeGreaterThan(before);
    expect(heard.at(-1)?.gone).toEqual(["a"]);
  });

  test("says that somebody is gone until the database has let go of it", async () => {
    const other = { id: "a", name: "b", lastSeq: 1, watermarkAt: T, leaseUntilAt: T, beatAt: T };
    const found = [{ gone: ["a"], broken: ["a"] }];
    const { script, heard, letGo } = await living({
      findOrphans: async () => found.shift() ?? { gone: [], broken: [] },
      monotonic: () => performance.now(),
    });
    script.answer = { others: [other] };
    await expect.poll(() => heard.length).toBeGreaterThan(3);
    expect(heard.at(-1)).toMatchObject({ gone: ["a"], broken: ["a"] });
    expect(letGo).toEqual([]);
    script.answer = {};
    await expect.poll(() => letGo).toEqual(["a"]);
    await expect.poll(() => heard.at(-1)?.gone).toEqual([]);
  });

  test("vouches for what was found before it says that its owner is gone", async () => {
    const { heard, intake, parts } = await living({ monotonic: () => performance.now() });
    const steps: string[] = [];
    vi.spyOn(intake, "adopt").mockImplementation(async () => {
      await sleep(1_500);
      steps.push(`adopted after ${heard.filter(({ gone }) => gone.length > 0).length} words`);
    });
    parts.findOrphans = async () => ({ gone: ["a"], broken: [] });
    await expect.poll(() => heard.some(({ gone }) => gone.length > 0)).toBe(true);
    expect(steps).toEqual(["adopted after 0 words"]);
  });

  test("beats on while the search for what others have left hangs", async () => {
    const { heard } = await living({
      findOrphans: () => new Promise(() => {}),
      monotonic: () => performance.now(),
    });
    await expect.poll(() => heard.length).toBeGreaterThan(1);
  });
});

describe("an intake that starts while the database is away", () => {
  const hearts: Heartbeat[] = [];
  afterEach(async () => {
    for (const heart of hearts.splice(0)) await heart.stop({ isEmpty: false });
  });

  async function starting(lastBeat: { ms: number; isAlone: boolean }) {
    const all = world({ isLate: true, lastHeartbeat: lastBeat });
    const heart = new Heartbeat(all.parts);
    all.presence.hasEntered = () => heart.hasEntered();
    hearts.push(heart);
    all.script.fails = true;
    await all.intake.adopt();
    await heart.start();
    return { ...all, heart };
  }

  test("spools what comes, enters when it is back, and then gives it what was taken", async () => {
    const { heart, script, intake, ping, database, entered, heard, pass } = await starting({
      ms: 1_000,
      isAlone: false,
    });
    const at = intake.now();
    pass(2_000);
    expect(await ping("1", { at })).toBe("recorded");
    await sleep(300);
    expect(database.calls).toBe(0);
    expect([heart.hasEntered(), intake.state().isSpooling]).toEqual([false, true]);
    pass(60_000);
    script.enteredAfterAt = T - 30_000;
    script.fails = false;
    await expect.poll(() => database.uas()).toEqual(["1"]);
    expect(entered).toMatchObject([{ unappliedAt: at }]);
    // Blind is the time until it listened, and not the time until it could enter.
    expect(heard[0]?.observed.unproven).toContainEqual({ from: T - 30_000, to: T });
    await expect.poll(() => intake.state().isSpooling).toBe(false);
  });

  test("promises as much as the last beat on its machine allows", async () => {
    const { heart, pass } = await starting({ ms: 1_000, isAlone: false });
    expect(heart.mayPromise()).toBe(true);
    pass(7_500);
    expect(heart.mayPromise()).toBe(false);
    const alone = await starting({ ms: Number.NEGATIVE_INFINITY, isAlone: true });
    expect(alone.heart.mayPromise()).toBe(true);
    const stranger = await starting({ ms: Number.NEGATIVE_INFINITY, isAlone: false });
    expect(stranger.heart.mayPromise()).toBe(false);
  });

  test("ends without having entered, and leaves what it has on disk", async () => {
    const { heart, intake, ping, spool, left } = await starting({ ms: 1_000, isAlone: true });
    expect(await ping("1")).toBe("recorded");
    expect(await intake.stop({ withinMs: 5_000 })).toBe(false);
    expect(await heart.stop({ isEmpty: false })).toBe(false);
    expect([spool.batches.length, left]).toEqual([1, []]);
  });
});

test("beats are noted for the next start, and a goodbye as one that nobody may count on", async () => {
  const other = { id: randomUUID(), name: "b", lastSeq: 1, watermarkAt: T, leaseUntilAt: T, beatAt: T };
  const { parts, script, noted, pass } = world();
  script.answer = { others: [other] };
  const heart = new Heartbeat(parts);
  pass(0, { wall: -5_000 });
  await heart.start();
  expect(noted).toEqual([{ wallAt: T - 5_000, databaseAheadMs: 5_000, isAlone: false }]);
  expect(await heart.stop({ isEmpty: true })).toBe(true);
  expect(noted.at(-1)).toEqual({ wallAt: 0, databaseAheadMs: 5_000, isAlone: false });
});
