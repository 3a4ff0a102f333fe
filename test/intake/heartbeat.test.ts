// The heartbeat of an intake on a scripted database: what each request contains, that it is repeated until it was
// stored, what the results cause, and how an intake that was declared lost returns.
import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Heartbeat, HeartbeatExchange } from "../../src/intake/heartbeat.ts";
import { T, world } from "./scripted-heartbeat.ts";
import { signal } from "./scripted-ports.ts";

const LIMIT = { giveUpAtMs: Infinity };

/** An exchange that is registered and sends a heartbeat when the test says so. */
function makeExchange(given: Parameters<typeof world>[0] = {}) {
  const all = world(given);
  const exchange = new HeartbeatExchange(all.deps);
  const { entered, identity } = all.deps;
  if (entered !== null) exchange.enter(identity.intakeId, entered);
  const tickFor = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 200) {
      all.pass(200);
      exchange.ticks.tick();
    }
  };
  return { ...all, exchange, tickFor };
}

const NO_REFUSALS = { targets: [], networks: [] };

describe("a heartbeat", () => {
  test("confirms everything up to a second ago", async () => {
    const { exchange, requests, tickFor } = makeExchange();
    tickFor(1_000);
    expect(await exchange.sendHeartbeat(LIMIT)).toBe(true);
    expect(requests[0]?.observed).toEqual({
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

  test("reports how many signals were accepted in the last minute, without rejected ones", async () => {
    const { exchange, requests, tickFor, intake, ping } = makeExchange();
    await ping("1");
    await ping("2");
    tickFor(1_000);
    await exchange.sendHeartbeat(LIMIT);
    expect(requests[0]?.observed.signalsPerMinute).toBe(2);
    await intake.stop({ withinMs: 0 });
    await ping("1");
    tickFor(61_000);
    await exchange.sendHeartbeat(LIMIT);
    expect(requests[1]?.observed.signalsPerMinute).toBe(0);
  });

  test("is held by a signal that is not applied", async () => {
    const { exchange, requests, tickFor, intake, database, ping } = makeExchange();
    database.behaviour = "away";
    const at = intake.now();
    await ping("1", { at });
    tickFor(5_000);
    await exchange.sendHeartbeat(LIMIT);
    expect(requests[0]?.observed).toMatchObject({ watermarkAt: at - 1_000, spoolEmpty: false });
  });

  test("stores a limited number of rejections, and confirms nothing beyond them", async () => {
    const { exchange, requests, tickFor, intake } = makeExchange();
    const at = intake.now();
    for (let n = 0; n < 5_000; n += 1) {
      const target = { by: "uuid", uuid: `check ${n}` } as const;
      // Five thousand networks are recorded by their block.
      intake.refused({ at: at + n, target, network: `192.0.2.${n % 50}` });
    }
    tickFor(10_000);
    for (let answers = 0; answers < 3; answers += 1) await exchange.sendHeartbeat(LIMIT);
    expect(requests.map(({ observed }) => observed.attributed?.targets.length)).toEqual([
      2_000, 2_000, 1_000,
    ]);
    expect(requests.map(({ observed }) => observed.watermarkAt)).toEqual([
      at + 2_000 - 1_000,
      at + 4_000 - 1_000,
      T + 9_000,
    ]);
  });

  test("says which pings were refused, without being held by them", async () => {
    const { exchange, requests, tickFor, intake, database, ping } = makeExchange();
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
    await exchange.sendHeartbeat(LIMIT);
    const { watermarkAt, refused, attributed } = requests[0]?.observed ?? {};
    expect({ watermarkAt, refused }).toEqual({ watermarkAt: T + 1_000, refused: [] });
    expect(attributed).toEqual({ targets: [{ target: stranger, from: at, to: at }], networks: [] });
    await exchange.sendHeartbeat(LIMIT);
    expect(requests[1]?.observed.attributed).toEqual(NO_REFUSALS);
  });

  test("is held while no ping can be accepted, and then reports that", async () => {
    const { exchange, requests, tickFor, intake } = makeExchange();
    const at = intake.now();
    intake.refused({ at, target: null, network: null });
    tickFor(2_000);
    await exchange.sendHeartbeat(LIMIT);
    expect(requests[0]?.observed).toMatchObject({ watermarkAt: at - 1_000, refused: [] });
    tickFor(3_000);
    await exchange.sendHeartbeat(LIMIT);
    expect(requests[1]?.observed).toMatchObject({ watermarkAt: T + 4_000, refused: [{ from: at, to: at }] });
    await exchange.sendHeartbeat(LIMIT);
    expect(requests[2]?.observed.refused).toEqual([]);
  });

  test("reports how long no process listened before the first one, until that was stored", async () => {
    const { exchange, requests, script, tickFor } = makeExchange({ lastHeartbeatAt: T - 600_000 });
    script.fails = true;
    await expect(exchange.sendHeartbeat(LIMIT)).rejects.toThrow("away");
    script.fails = false;
    tickFor(400);
    await exchange.sendHeartbeat(LIMIT);
    expect(requests[0]).toMatchObject({
      heartbeatAt: T - 600_000,
      observed: { unproven: [{ from: T - 600_000, to: T }] },
    });
    await exchange.sendHeartbeat(LIMIT);
    expect(requests[1]).toMatchObject({ heartbeatAt: T + 400, observed: { unproven: [] } });
  });

  test("reports when the process was stopped, until that was stored", async () => {
    const { exchange, requests, script, pass, tickFor } = makeExchange();
    await exchange.sendHeartbeat(LIMIT);
    tickFor(1_000);
    pass(20_000);
    script.fails = true;
    await expect(exchange.sendHeartbeat(LIMIT)).rejects.toThrow("away");
    exchange.ticks.tick();
    script.fails = false;
    tickFor(1_000);
    await exchange.sendHeartbeat(LIMIT);
    expect(requests[1]?.observed.unproven).toEqual([{ from: T + 1_000, to: T + 21_000 }]);
    await exchange.sendHeartbeat(LIMIT);
    expect(requests[2]?.observed.unproven).toEqual([]);
  });

  test("says so, too, when it stood still after it had looked at the clock", async () => {
    const { exchange, requests, script, pass, tickFor } = makeExchange();
    await exchange.sendHeartbeat(LIMIT);
    tickFor(1_000);
    script.duringTransaction = () => pass(4_000);
    await exchange.sendHeartbeat(LIMIT);
    expect(requests[1]?.observed.unproven).toEqual([{ from: T + 1_000, to: T + 5_000 }]);
  });

  test("after a database outage reports nothing if the intake was running all the time", async () => {
    const { exchange, requests, tickFor } = makeExchange();
    await exchange.sendHeartbeat(LIMIT);
    tickFor(60_000);
    await exchange.sendHeartbeat(LIMIT);
    expect(requests[1]).toMatchObject({ heartbeatAt: T, observed: { unproven: [], skippedMs: 0 } });
  });

  test("reports time that passed only for the database, and continues from there", async () => {
    const { exchange, requests, pass, clock } = makeExchange();
    await exchange.sendHeartbeat(LIMIT);
    // A suspended machine: its monotonic clock does not advance.
    pass(200, { database: 3_600_000, wall: 3_600_000 });
    await exchange.sendHeartbeat(LIMIT);
    expect(requests[1]?.observed).toMatchObject({ skippedMs: 3_600_000, watermarkAt: T - 800 });
    expect(clock.now()).toBe(T + 3_600_200);
  });

  test("after a gap comes only when what lay in the sockets has been read", async () => {
    const { exchange, requests, pass, intake, database } = makeExchange();
    await exchange.sendHeartbeat(LIMIT);
    database.delayMs = 1_000;
    pass(20_000);
    // A waiting connection is accepted in one turn of the event loop, and read in the next.
    const reading = nextTurn()
      .then(() => nextTurn())
      .then(() => intake.accept(signal("waited", { at: T + 5 }), { create: false, network: null }));
    await exchange.sendHeartbeat(LIMIT);
    expect(requests[1]?.observed.watermarkAt).toBe(T + 5 - 1_000);
    await reading;
  });

  test("of an intake that no longer listens does not advance", async () => {
    const { exchange, requests, tickFor, intake } = makeExchange();
    tickFor(1_000);
    exchange.acceptedUntilAt = intake.now();
    tickFor(5_000);
    await exchange.sendHeartbeat(LIMIT);
    expect(requests[0]?.observed).toMatchObject({ acceptedUntilAt: T + 1_000, watermarkAt: T });
  });
});

describe("the result of a heartbeat", () => {
  test("lets missing pings raise alerts after a minute, and not before", async () => {
    const { exchange, tickFor } = makeExchange();
    for (let second = 0; second < 60; second += 1) {
      await exchange.sendHeartbeat(LIMIT);
      expect(exchange.watch.visibility.watermarkAt).toBeNull();
      tickFor(1_000);
    }
    await exchange.sendHeartbeat(LIMIT);
    expect(exchange.watch.visibility.watermarkAt).toBe(T + 59_000);
    tickFor(4_000);
    await exchange.sendHeartbeat(LIMIT);
    expect(exchange.watch.visibility.watermarkAt).toBeNull();
  });

  test("that shows lost commits has them given again, and nothing is believed for a while", async () => {
    const { exchange, script, lines, intake, ping, tickFor, database } = makeExchange();
    for (let second = 0; second < 70; second += 1) {
      await exchange.sendHeartbeat(LIMIT);
      tickFor(1_000);
    }
    await ping("1");
    await ping("2");
    const { intakeId } = intake.state().confirmed;
    database.lastSeq.set(intakeId, 1);
    database.applied.pop();
    script.answer = { lastSeqs: [1] };
    await exchange.sendHeartbeat(LIMIT);
    expect(exchange.watch.visibility.watermarkAt).toBeNull();
    await expect.poll(() => database.uas()).toEqual(["1", "2"]);
    expect(lines.some((line) => line.includes("lost confirmed pings"))).toBe(true);
  });

  test("names who is watched, and since when", async () => {
    const other = { id: randomUUID(), name: "b", watermarkAt: T, leaseUntilAt: T + 10_000, heartbeatAt: T };
    const { exchange, script, requests, tickFor } = makeExchange();
    const say = (lastSeq: number) => {
      script.answer = { others: [{ ...other, lastSeqs: [lastSeq] }] };
    };
    say(5);
    await exchange.sendHeartbeat(LIMIT);
    tickFor(2_000);
    await exchange.sendHeartbeat(LIMIT);
    expect(requests[1]).toMatchObject({ watchingSinceAt: T });
    expect(requests[1]?.signs).toEqual(new Map([[other.id, T]]));
    say(6);
    await exchange.sendHeartbeat(LIMIT);
    tickFor(2_000);
    await exchange.sendHeartbeat(LIMIT);
    expect(requests[3]?.signs).toEqual(new Map([[other.id, T + 2_000]]));
    tickFor(10_000);
    await exchange.sendHeartbeat(LIMIT);
    await exchange.sendHeartbeat(LIMIT);
    expect(requests.at(-1)?.watchingSinceAt).toBe(T + 14_000);
  });

  test("is logged for the admin: lost intakes, blind intervals, the holder of the watermark", async () => {
    const { exchange, script, lines, tickFor } = makeExchange();
    const slow = {
      id: "slow-id",
      name: "slow",
      lastSeqs: [1],
      watermarkAt: T - 61_000,
      heartbeatAt: T,
      leaseUntilAt: T,
    };
    script.answer = {
      lost: [{ ...slow, name: "gone" }],
      blind: [{ from: T - 5, to: T, reason: "pings were rejected" }],
      others: [slow],
      visibility: { watermarkAt: slow.watermarkAt, blind: [] },
    };
    await exchange.sendHeartbeat(LIMIT);
    script.answer = { ...script.answer, lost: [], blind: [] };
    tickFor(1_000);
    await exchange.sendHeartbeat(LIMIT);
    const messages = lines.map((line) => JSON.parse(line)["msg"]);
    expect(messages).toEqual([
      "receiving process lost",
      "monitoring gap: pings could not be received",
      "the watermark is held back; alerts for missing pings are delayed",
    ]);
    expect(JSON.parse(lines[2] ?? "")).toMatchObject({ intakeId: "slow-id", name: "slow" });
    expect(exchange.counts).toMatchObject({ count: 2, lost: 1, blind: 1, watermarkLagMs: 62_000 });
  });

  test("with a clock that was set back is logged, and the time stops", async () => {
    const { exchange, pass, clock, lines } = makeExchange();
    await exchange.sendHeartbeat(LIMIT);
    pass(1_000, { database: -300_000 });
    const before = clock.now();
    await exchange.sendHeartbeat(LIMIT);
    expect(lines.some((line) => line.includes("clock went back"))).toBe(true);
    pass(1_000);
    expect(clock.now()).toBe(before);
  });
});

describe("the heartbeat loop", () => {
  const heartbeats: Heartbeat[] = [];
  afterEach(async () => {
    for (const heartbeat of heartbeats.splice(0)) await heartbeat.stop({ isEmpty: false });
  });

  async function startHeartbeat(given: Parameters<typeof world>[0] = {}) {
    const all = world(given);
    const heartbeat = new Heartbeat(all.deps);
    all.presence.hasEntered = () => heartbeat.hasEntered();
    heartbeats.push(heartbeat);
    await all.intake.adopt();
    await heartbeat.start();
    return { ...all, heartbeat };
  }

  test("stores all rejections before it unregisters, in as many heartbeats as necessary", async () => {
    const { heartbeat, requests, left, intake } = await startHeartbeat({
      monotonic: () => performance.now(),
    });
    const at = intake.now();
    for (let n = 0; n < 5_000; n += 1) {
      const target = { by: "uuid", uuid: `check ${n}` } as const;
      intake.refused({ at, target, network: `192.0.2.${n % 50}` });
    }
    await heartbeat.stop({ isEmpty: true });
    const stored = requests.map(({ observed }) => observed.attributed?.targets.length ?? 0);
    const last = left[0]?.attributed?.targets.length ?? 0;
    expect(stored.reduce((sum, count) => sum + count, last)).toBe(5_000);
  });

  test("sends a heartbeat each second, despite errors, and unregisters only when nothing is left", async () => {
    const { heartbeat, requests, script, left, deps } = await startHeartbeat({
      monotonic: () => performance.now(),
    });
    await expect.poll(() => requests.length).toBeGreaterThanOrEqual(3);
    script.fails = true;
    await expect.poll(() => heartbeat.state().failures).toBeGreaterThanOrEqual(1);
    script.fails = false;
    const before = requests.length;
    await expect.poll(() => requests.length).toBeGreaterThan(before);
    await heartbeat.stop({ isEmpty: true });
    expect(requests.at(-1)?.observed.acceptedUntilAt).not.toBeNull();
    expect(left).toEqual([{ intakeId: deps.identity.intakeId, refused: [], attributed: NO_REFUSALS }]);
  });

  test("does not say goodbye while something is left", async () => {
    const { heartbeat, left } = await startHeartbeat();
    await heartbeat.stop({ isEmpty: false });
    expect(left).toEqual([]);
  });

  test("reports once that the spool is filling, also while the database is down, and once that it has space", async () => {
    let fill = 0.49;
    const given = { spoolFill: () => fill, monotonic: () => performance.now() };
    const { heartbeat, requests, script, lines } = await startHeartbeat(given);
    const said = (text: string) => lines.filter((line) => line.includes(text)).length;
    expect(requests[0]?.observed.spoolFill).toBe(0.49);
    script.fails = true;
    fill = 0.5;
    await expect.poll(() => said("the spool is filling")).toBe(1);
    await expect.poll(() => heartbeat.state().failures).toBeGreaterThanOrEqual(2);
    script.fails = false;
    fill = 0.1;
    await expect.poll(() => said("the spool has free space again")).toBe(1);
    await expect.poll(() => requests.at(-1)?.observed.spoolFill).toBe(0.1);
    expect(said("the spool is filling")).toBe(1);
  });

  test("says once that the spool has no room, also when it was never half full", async () => {
    let fill = 1;
    const given = { spoolFill: () => fill, monotonic: () => performance.now() };
    const { lines } = await startHeartbeat(given);
    const said = (text: string) => lines.filter((line) => line.includes(text)).length;
    await expect.poll(() => said("the spool has no space left")).toBe(1);
    fill = 0;
    await expect.poll(() => said("the spool has free space again")).toBe(1);
    expect(said("the spool has no space left")).toBe(1);
    expect(said("the spool is filling")).toBe(0);
  });

  test("has no watermark and, as one of several, acknowledges nothing when heartbeats have failed for long", async () => {
    const other = {
      id: randomUUID(),
      name: "b",
      lastSeqs: [1],
      watermarkAt: T,
      leaseUntilAt: T,
      heartbeatAt: T,
    };
    const { heartbeat, script, pass } = await startHeartbeat();
    expect(heartbeat.mayPromise()).toBe(true);
    pass(60_000);
    expect(heartbeat.mayPromise()).toBe(true);
    script.answer = { others: [other] };
    await expect.poll(() => heartbeat.state().count).toBeGreaterThan(1);
    expect(heartbeat.mayPromise()).toBe(true);
    script.fails = true;
    pass(7_500);
    expect(heartbeat.mayPromise()).toBe(false);
    expect(heartbeat.visibility().watermarkAt).toBeNull();
  });

  test("enters anew under another id when it was given up, and leaves the old spool when that is drained", async () => {
    const { heartbeat, script, spools, entered, intake, ping, database, deps } = await startHeartbeat();
    await ping("1");
    script.closed = true;
    await expect.poll(() => entered.length).toBe(1);
    const intakeId = entered[0]?.intakeId;
    await expect.poll(() => intake.state().confirmed.intakeId).toBe(intakeId);
    expect(heartbeat.state().intakeId).toBe(intakeId);
    expect(spools.opened).toEqual([{ intakeId, isClosed: false }]);
    expect(spools.closedBefore).toEqual([deps.identity.spool]);
    expect(await ping("2")).toBe("recorded");
    expect(database.applied.map(({ seq }) => seq)).toEqual([1, 1]);
  });

  test("takes another spool when the one in use fails", async () => {
    const { deps, entered, spools, intake, ping, database, lines } = await startHeartbeat();
    expect(await ping("1")).toBe("recorded");
    deps.spoolProblem = (spool) => (spools.isNew(spool) ? null : "the disk failed");
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
      const { deps, entered, spools, requests } = await startHeartbeat({
        monotonic: () => performance.now(),
      });
      const { closeSpool } = deps;
      deps.closeSpool = async (spool) => {
        await closeSpool(spool);
        return { isRemoved };
      };
      deps.spoolProblem = (spool) => (spools.isNew(spool) ? null : "trouble");
      await expect.poll(() => entered.length).toBe(1);
      const before = requests.length;
      await expect.poll(() => requests.length).toBeGreaterThan(before + 2);
      const gone = requests.flatMap((one) => one.gone);
      expect(gone).toEqual(isRemoved ? [deps.identity.intakeId] : []);
    }
  });

  test("reports intakes that are gone, once they are found, until that was stored", async () => {
    const found = [{ gone: ["a"], broken: ["b"] }];
    const { requests, released } = await startHeartbeat({
      findOrphans: async () => found.shift() ?? { gone: [], broken: [] },
      monotonic: () => performance.now(),
    });
    await expect.poll(() => requests.length).toBeGreaterThan(2);
    expect(requests.filter(({ gone }) => gone.length > 0)).toHaveLength(1);
    expect(requests.find(({ gone }) => gone.length > 0)).toMatchObject({ gone: ["a"], broken: ["b"] });
    expect(released).toEqual(["a"]);
  });

  test("releases no intake before the database has closed it", async () => {
    const { script, released, heartbeat, requests } = await startHeartbeat({
      findOrphans: async () => ({ gone: ["a"], broken: [] }),
      monotonic: () => performance.now(),
    });
    script.fails = true;
    const before = released.length;
    await expect.poll(() => heartbeat.state().failures).toBeGreaterThan(1);
    expect(released.length).toBe(before);
    script.fails = false;
    await expect.poll(() => released.length).toBeGreaterThan(before);
    expect(requests.at(-1)?.gone).toEqual(["a"]);
  });

  test("reports that an intake is gone until the database has closed it", async () => {
    const other = { id: "a", name: "b", lastSeqs: [1], watermarkAt: T, leaseUntilAt: T, heartbeatAt: T };
    const found = [{ gone: ["a"], broken: ["a"] }];
    const { script, requests, released } = await startHeartbeat({
      findOrphans: async () => found.shift() ?? { gone: [], broken: [] },
      monotonic: () => performance.now(),
    });
    script.answer = { others: [other] };
    await expect.poll(() => requests.length).toBeGreaterThan(3);
    expect(requests.at(-1)).toMatchObject({ gone: ["a"], broken: ["a"] });
    expect(released).toEqual([]);
    script.answer = {};
    await expect.poll(() => released).toEqual(["a"]);
    await expect.poll(() => requests.at(-1)?.gone).toEqual([]);
  });

  test("confirms what was found before it reports that its owner is gone", async () => {
    const { requests, intake, deps } = await startHeartbeat({ monotonic: () => performance.now() });
    const steps: string[] = [];
    vi.spyOn(intake, "adopt").mockImplementation(async () => {
      await sleep(1_500);
      steps.push(`adopted after ${requests.filter(({ gone }) => gone.length > 0).length} words`);
    });
    deps.findOrphans = async () => ({ gone: ["a"], broken: [] });
    await expect.poll(() => requests.some(({ gone }) => gone.length > 0)).toBe(true);
    expect(steps).toEqual(["adopted after 0 words"]);
  });

  test("continues while the search for spools of other intakes hangs", async () => {
    const { requests } = await startHeartbeat({
      findOrphans: () => new Promise(() => {}),
      monotonic: () => performance.now(),
    });
    await expect.poll(() => requests.length).toBeGreaterThan(1);
  });
});

describe("an intake that starts while the database is down", () => {
  const heartbeats: Heartbeat[] = [];
  afterEach(async () => {
    for (const heartbeat of heartbeats.splice(0)) await heartbeat.stop({ isEmpty: false });
  });

  async function starting(lastBeat: { ms: number; isAlone: boolean }) {
    const all = world({ isLate: true, lastHeartbeat: lastBeat });
    const heartbeat = new Heartbeat(all.deps);
    all.presence.hasEntered = () => heartbeat.hasEntered();
    heartbeats.push(heartbeat);
    all.script.fails = true;
    await all.intake.adopt();
    await heartbeat.start();
    return { ...all, heartbeat };
  }

  test("spools what comes, enters when it is back, and then gives it what was taken", async () => {
    const { heartbeat, script, intake, ping, database, entered, requests, pass } = await starting({
      ms: 1_000,
      isAlone: false,
    });
    const at = intake.now();
    pass(2_000);
    expect(await ping("1", { at })).toBe("recorded");
    await sleep(300);
    expect(database.calls).toBe(0);
    expect([heartbeat.hasEntered(), intake.state().isSpooling]).toEqual([false, true]);
    pass(60_000);
    script.enteredAfterAt = T - 30_000;
    script.fails = false;
    await expect.poll(() => database.uas()).toEqual(["1"]);
    expect(entered).toMatchObject([{ unappliedAt: at }]);
    // Blind is the time until it listened, not the time until it could register.
    expect(requests[0]?.observed.unproven).toContainEqual({ from: T - 30_000, to: T });
    await expect.poll(() => intake.state().isSpooling).toBe(false);
  });

  test("acknowledges as long as the last heartbeat on its machine allows", async () => {
    const { heartbeat, pass } = await starting({ ms: 1_000, isAlone: false });
    expect(heartbeat.mayPromise()).toBe(true);
    pass(7_500);
    expect(heartbeat.mayPromise()).toBe(false);
    const alone = await starting({ ms: Number.NEGATIVE_INFINITY, isAlone: true });
    expect(alone.heartbeat.mayPromise()).toBe(true);
    const stranger = await starting({ ms: Number.NEGATIVE_INFINITY, isAlone: false });
    expect(stranger.heartbeat.mayPromise()).toBe(false);
  });

  test("ends without having entered, and leaves what it has on disk", async () => {
    const { heartbeat, intake, ping, spool, left } = await starting({ ms: 1_000, isAlone: true });
    expect(await ping("1")).toBe("recorded");
    expect(await intake.stop({ withinMs: 5_000 })).toBe(false);
    expect(await heartbeat.stop({ isEmpty: false })).toBe(false);
    expect([spool.batches.length, left]).toEqual([1, []]);
  });
});

test("heartbeats are stored for the next start, and unregistering as one that must not be relied on", async () => {
  const other = {
    id: randomUUID(),
    name: "b",
    lastSeqs: [1],
    watermarkAt: T,
    leaseUntilAt: T,
    heartbeatAt: T,
  };
  const { deps, script, noted, pass } = world();
  script.answer = { others: [other] };
  const heartbeat = new Heartbeat(deps);
  pass(0, { wall: -5_000 });
  await heartbeat.start();
  expect(noted).toEqual([{ wallAt: T - 5_000, databaseAheadMs: 5_000, isAlone: false }]);
  expect(await heartbeat.stop({ isEmpty: true })).toBe(true);
  expect(noted.at(-1)).toEqual({ wallAt: 0, databaseAheadMs: 5_000, isAlone: false });
});
