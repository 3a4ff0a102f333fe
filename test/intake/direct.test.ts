// The intake on scripted ports: order, numbers, doubt, the spool fallback and its end, rejections, stopping.
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { LANES, type SignalResult } from "../../src/core/signal.ts";
import { awakeMs } from "../support/awake.ts";
import {
  nameOf,
  scripted,
  ScriptedDatabase,
  ScriptedSpool,
  signal,
  targetOf,
  words,
} from "./scripted-ports.ts";

const OTHER = targetOf(0);

/** The numbers of all lanes, if only the first one was used. */
const laneOnly = (seq: number): number[] => [seq, ...Array.from({ length: LANES - 1 }, () => 0)];

describe("while the database answers", () => {
  test("signals are recorded in order, in batches numbered without a gap", async () => {
    const { ping, database } = scripted();
    database.delayMs = 5;
    const answers: Promise<string>[] = [];
    for (const word of words(1, 300)) {
      answers.push(ping(word));
      if (Number(word) % 50 === 0) await sleep(3);
    }
    expect(new Set(await Promise.all(answers))).toEqual(new Set(["recorded"]));
    expect(database.uas()).toEqual(words(1, 300));
    const numbers = [...new Set(database.applied.map(({ seq }) => seq))];
    expect(numbers).toEqual(words(1, numbers.length).map(Number));
    expect(numbers.length).toBeGreaterThan(1);
    expect(database.inFlightMax).toBe(1);
  });

  test("what arrives together is one batch, of a bounded size", async () => {
    const { ping, database } = scripted();
    await Promise.all(words(1, 1_200).map((word) => ping(word)));
    expect(database.calls).toBe(3);
  });

  test("a batch has bounded bytes, and a larger body travels alone", async () => {
    const { ping, database } = scripted();
    const body = new Uint8Array(5 * 1024 * 1024);
    await Promise.all(words(1, 3).map((word) => ping(word, { body })));
    expect(database.calls).toBe(3);
    await ping("huge", { body: new Uint8Array(20 * 1024 * 1024) });
    expect(database.uas()).toEqual(["1", "2", "3", "huge"]);
  });

  test("each sender gets the outcome of its own signal", async () => {
    const { ping, database, known } = scripted();
    database.unknown.add(nameOf(OTHER));
    known.add(nameOf(OTHER));
    const answers = await Promise.all([ping("a"), ping("b", { target: OTHER }), ping("c")]);
    expect(answers).toEqual(["recorded", "unknown", "recorded"]);
    expect(known.has(nameOf(OTHER))).toBe(false);
  });

  test("settings are read once, when the check is created, and their warning is part of the answer", async () => {
    const made: unknown[] = [];
    const { intake, database } = scripted({
      create: async (target, settings) => {
        made.push(settings);
        return database.unknown.delete(nameOf(target)) ? "created" : "exists";
      },
    });
    database.unknown.add(nameOf(OTHER));
    const given = { params: { name: "Nightly" }, policy: {}, warning: "Ignored settings: x." };
    let readCount = 0;
    const settings = () => {
      readCount += 1;
      return given;
    };
    const accept = (word: string) =>
      intake.accept(signal(word, { target: OTHER, at: intake.now() }), {
        create: true,
        settings,
        network: null,
      });
    expect(await accept("a")).toEqual({ kind: "created", warning: "Ignored settings: x." });
    expect(await accept("b")).toEqual({ kind: "recorded" });
    expect(made).toEqual([given]);
    expect(readCount).toBe(1);
  });

  test("a check is created only for a signal that requests it", async () => {
    const { ping, database, known } = scripted();
    database.unknown.add(nameOf(OTHER));
    expect(await ping("a", { target: OTHER })).toBe("unknown");
    expect(await ping("b", { target: OTHER, create: true })).toBe("created");
    expect(await ping("c", { target: OTHER, create: true })).toBe("recorded");
    expect(database.uas()).toEqual(["b", "c"]);
    expect(known.has(nameOf(OTHER))).toBe(true);
  });

  test("the oldest signal that is not applied holds the watermark", async () => {
    const database = new ScriptedDatabase();
    const gate = Promise.withResolvers<void>();
    const { intake, ping } = scripted({
      record: async (batch, how) => {
        await gate.promise;
        return database.record(batch, how);
      },
    });
    expect(intake.state().oldestUnappliedAt).toBeNull();
    const at = intake.now();
    const both = [ping("a", { at }), sleep(10).then(() => ping("b"))];
    await sleep(20);
    expect(intake.state().oldestUnappliedAt).toBe(at);
    gate.resolve();
    await Promise.all(both);
    expect(intake.state()).toMatchObject({ oldestUnappliedAt: null, isSpooling: false, queued: 0 });
  });
});

describe("when the database is down", () => {
  test("signals are spooled under their numbers, and replayed in order when it is back", async () => {
    const { intake, ping, database, spool } = scripted();
    await ping("1");
    database.behaviour = "away";
    for (const word of words(2, 6)) expect(await ping(word)).toBe("recorded");
    expect(spool.batches.map(({ seq }) => seq)).toEqual([2, 3, 4, 5, 6]);
    expect(intake.state()).toMatchObject({ isSpooling: true, refusedCount: 0 });
    expect(intake.state().oldestUnappliedAt).toBe(spool.batches[0]?.signals[0]?.at);
    database.behaviour = "answers";
    await expect.poll(() => intake.state().isSpooling).toBe(false);
    expect(database.uas()).toEqual(words(1, 6));
    expect(database.applied.map(({ replayed }) => replayed)).toEqual([false, ...Array(5).fill(true)]);
    expect(intake.state()).toMatchObject({ oldestUnappliedAt: null, confirmed: { seqs: laneOnly(6) } });
    expect(await ping("7")).toBe("recorded");
    expect(database.applied.at(-1)).toMatchObject({ ua: "7", seq: 7, replayed: false });
  });

  test("a batch whose commit was not confirmed is spooled and applied once", async () => {
    const { intake, ping, database, spool } = scripted();
    database.behaviour = "in doubt";
    expect(await ping("1")).toBe("recorded");
    expect(spool.batches.map(({ seq }) => seq)).toEqual([1]);
    database.behaviour = "answers";
    await expect.poll(() => intake.state().isSpooling).toBe(false);
    expect(database.uas()).toEqual(["1"]);
    expect(await ping("2")).toBe("recorded");
    expect(database.uas()).toEqual(["1", "2"]);
  });

  test("one that hangs is given up in time for an answer within two seconds", async () => {
    const { ping, database } = scripted();
    database.behaviour = "hangs";
    const begun = awakeMs();
    const first = ping("1");
    await sleep(500);
    const second = ping("2");
    expect(await Promise.all([first, second])).toEqual(["recorded", "recorded"]);
    expect(awakeMs() - begun).toBeLessThan(1_500);
    const third = awakeMs();
    expect(await ping("3")).toBe("recorded");
    expect(awakeMs() - third).toBeLessThan(500);
  });

  test("a slow one is not waited for by signals that have waited long already", async () => {
    const { ping, database, spool } = scripted();
    database.delayMs = 900;
    const begun = awakeMs();
    const first = ping("1");
    await sleep(20);
    database.behaviour = "hangs";
    expect(await Promise.all([first, ping("2")])).toEqual(["recorded", "recorded"]);
    expect(awakeMs() - begun).toBeLessThan(1_800);
    expect(spool.batches.map(({ seq }) => seq)).toEqual([2]);
  });

  test("only known checks are taken; others are refused, which excuses them alone", async () => {
    const { intake, ping, database, spool } = scripted();
    database.behaviour = "away";
    const at = intake.now();
    const answers = await Promise.all([ping("a"), ping("b", { target: OTHER, at })]);
    // The second one was in the batch that the database did not accept: it may be recorded, but is not acknowledged.
    expect(answers).toEqual(["recorded", "busy"]);
    expect(spool.batches[0]?.signals).toHaveLength(2);
    expect(await ping("c", { target: OTHER })).toBe("busy");
    expect(await ping("d", { target: OTHER, create: true })).toBe("busy");
    expect(await ping("e")).toBe("recorded");
    expect(spool.batches.flatMap(({ signals }) => signals.map(({ ua }) => ua))).toEqual(["a", "b", "e"]);
    const { attributed, ...state } = intake.state();
    expect(state).toMatchObject({ refusingSinceAt: null, refusedCount: 3 });
    expect(attributed.targets).toMatchObject([{ target: OTHER, from: at }]);
  });

  test("a known check is known with create=1, too", async () => {
    const { ping, database } = scripted();
    database.behaviour = "away";
    expect(await ping("a", { create: true })).toBe("recorded");
  });

  test("nothing is acknowledged after the lease has ended", async () => {
    let mayPromise = true;
    const { intake, ping, database } = scripted({ mayPromise: () => mayPromise });
    database.behaviour = "away";
    expect(await ping("a")).toBe("recorded");
    mayPromise = false;
    expect(await ping("b")).toBe("busy");
    expect(intake.state().refusedCount).toBe(1);
  });
});

describe("the end of the fallback", () => {
  test("comes under constant load, in order, without a second batch in flight and without a refusal", async () => {
    const { intake, ping, database, spool } = scripted();
    database.behaviour = "away";
    const answers: Promise<string>[] = [];
    let count = 0;
    const load = setInterval(() => {
      for (let i = 0; i < 4; i += 1) answers.push(ping(String((count += 1))));
    }, 2);
    await expect.poll(() => spool.batches.length).toBeGreaterThan(3);
    // Slower than batches are created during the fallback: without waiting for it, the fallback would never end.
    database.delayMs = 40;
    database.behaviour = "answers";
    await expect.poll(() => intake.state().isSpooling).toBe(false);
    await sleep(100);
    clearInterval(load);
    expect(new Set(await Promise.all(answers))).toEqual(new Set(["recorded"]));
    expect(database.uas()).toEqual(words(1, count));
    expect(database.inFlightMax).toBe(1);
    expect(database.applied.at(-1)?.replayed).toBe(false);
  });

  test("is not declared while a batch is being appended", async () => {
    const { intake, ping, database, spool } = scripted();
    database.behaviour = "away";
    await ping("1");
    const gate = Promise.withResolvers<void>();
    const append = spool.append.bind(spool);
    let isAppending = false;
    spool.append = async (batch) => {
      isAppending = true;
      await gate.promise;
      return append(batch);
    };
    const second = ping("2");
    await expect.poll(() => isAppending).toBe(true);
    database.behaviour = "answers";
    await expect.poll(() => database.uas()).toEqual(["1"]);
    expect(intake.state().isSpooling).toBe(true);
    gate.resolve();
    expect(await second).toBe("recorded");
    await expect.poll(() => intake.state().isSpooling).toBe(false);
    expect(database.uas()).toEqual(["1", "2"]);
  });

  test("a check that was never seen is looked up while the database catches up", async () => {
    const { intake, ping, database, spool, known } = scripted();
    database.behaviour = "away";
    for (const word of words(1, 10)) await ping(word);
    database.unknown.add("nobody");
    database.delayMs = 50;
    database.behaviour = "answers";
    await expect.poll(() => spool.batches.length).toBeLessThan(9);
    expect(await ping("new", { target: OTHER })).toBe("recorded");
    expect(await ping("x", { target: { by: "uuid", uuid: "nobody" } })).toBe("unknown");
    expect(known.has(nameOf(OTHER))).toBe(true);
    await expect.poll(() => intake.state().isSpooling).toBe(false);
    expect(database.uas()).toContain("new");
    expect(intake.state().refusedCount).toBe(0);
  });

  test("what an intake that is gone has left is applied first, and the intake is let go of", async () => {
    const { intake, ping, database, spool, closed } = scripted();
    const orphan = randomUUID();
    const at = intake.now() - 60_000;
    spool.batches.push({ intakeId: orphan, lane: 0, seq: 1, signals: [signal("old 1", { at })] });
    spool.batches.push({ intakeId: orphan, lane: 0, seq: 2, signals: [signal("old 2", { at: at + 1 })] });
    spool.orphans.add(orphan);
    spool.unreadable.push({ reason: "cut off", bytes: new Uint8Array() });
    await intake.adopt();
    expect(intake.state()).toMatchObject({ isSpooling: true, oldestUnappliedAt: at });
    expect(await ping("new")).toBe("recorded");
    await expect.poll(() => intake.state().isSpooling).toBe(false);
    expect(database.uas()).toEqual(["old 1", "old 2", "new"]);
    expect(database.unreadable).toEqual(["cut off"]);
    expect(closed).toEqual([orphan]);
  });
});

describe("acknowledged signals that cannot be recorded any more", () => {
  test("are counted by reason; those that were only spooled, or answered, are not", async () => {
    const { intake, ping, database, known } = scripted();
    const gone = { by: "uuid" as const, uuid: randomUUID() };
    known.add(nameOf(gone));
    database.unknown.add(nameOf(gone)).add(nameOf(OTHER));
    database.behaviour = "away";
    // The last of them is in the batch in doubt, but its sender was rejected.
    const answers = [ping("1"), ping("2", { target: gone }), ping("3", { target: OTHER })];
    expect(await Promise.all(answers)).toEqual(["recorded", "recorded", "busy"]);
    expect(await ping("4", { target: gone })).toBe("recorded");
    database.behaviour = "answers";
    await expect.poll(() => intake.state().isSpooling).toBe(false);
    expect(intake.state().dropped).toEqual({ unknown: 2, ambiguous: 0 });
    // Recorded directly, its sender is notified.
    expect(await ping("5", { target: gone })).toBe("unknown");
    expect(intake.state()).toMatchObject({ dropped: { unknown: 2, ambiguous: 0 }, rejectedCount: 0 });
    // The first was recorded later; directly recorded signals are not replays.
    expect(await ping("6")).toBe("recorded");
    expect(intake.state().replayedCount).toBe(1);
  });

  test("or were quarantined are counted separately", async () => {
    const results: SignalResult[] = ["rejected", "ambiguous", "recorded"];
    const database = new ScriptedDatabase();
    const { intake, ping, spool } = scripted({
      record: async (batch, how) => {
        const recorded = await database.record(batch, how);
        return typeof recorded === "string"
          ? recorded
          : batch.signals.map((_, at) => results[at] ?? "recorded");
      },
    });
    expect(await ping("1")).toBe("recorded");
    expect(intake.state().rejectedCount).toBe(1);
    database.behaviour = "away";
    await Promise.all([ping("2"), ping("3")]);
    spool.unreadable.push({ reason: "cut off", bytes: new Uint8Array() });
    database.behaviour = "answers";
    await expect.poll(() => intake.state().isSpooling).toBe(false);
    expect(intake.state()).toMatchObject({ rejectedCount: 3, dropped: { unknown: 0, ambiguous: 1 } });
    expect(intake.state().replayedCount).toBe(0);
  });
});

describe("without a spool, or when it is full", () => {
  test("a short outage is waited out", async () => {
    const { ping, database } = scripted({ spoolless: true });
    database.behaviour = "away";
    const first = ping("1");
    await sleep(50);
    const second = ping("2");
    database.behaviour = "answers";
    expect(await Promise.all([first, second])).toEqual(["busy", "recorded"]);
    // The first one was not acknowledged, and keeps its number anyway.
    expect(database.applied.map(({ ua, seq }) => [ua, seq])).toEqual([
      ["1", 1],
      ["2", 2],
    ]);
  });

  test("during a long one every ping is rejected, after a while immediately, and that is a blind interval", async () => {
    const { intake, ping, database } = scripted({ spoolless: true });
    database.behaviour = "away";
    const at = intake.now();
    expect(await ping("1", { at })).toBe("busy");
    const begun = awakeMs();
    expect(await ping("2")).toBe("busy");
    expect(awakeMs() - begun).toBeLessThan(2_000);
    const later = awakeMs();
    expect(await ping("3")).toBe("busy");
    expect(awakeMs() - later).toBeLessThan(500);
    expect(intake.state().refusingSinceAt).toBe(at);
    database.behaviour = "answers";
    await expect.poll(() => intake.state().isSpooling).toBe(false);
    expect(await ping("4")).toBe("recorded");
    expect(database.uas()).toEqual(["1", "4"]);
  });

  test("a full one refuses, and takes signals again as soon as there is room", async () => {
    const { intake, ping, database, spool } = scripted();
    database.behaviour = "away";
    for (const word of words(1, 5)) await ping(word);
    spool.isFull = true;
    expect(await ping("6")).toBe("busy");
    spool.isFull = false;
    await expect.poll(() => spool.batches.length).toBe(6);
    expect(await ping("7")).toBe("recorded");
    database.behaviour = "answers";
    await expect.poll(() => intake.state().isSpooling).toBe(false);
    expect(database.uas()).toEqual(words(1, 7));
  });

  test("a number is never used twice, even where the disk kept what it refused", async () => {
    const { intake, ping, database, spool } = scripted();
    database.behaviour = "away";
    await ping("1");
    spool.liesOnce = true;
    expect(await ping("2")).toBe("busy");
    expect(spool.batches.map(({ seq }) => seq)).toEqual([1, 2]);
    database.behaviour = "answers";
    await expect.poll(() => intake.state().isSpooling).toBe(false);
    expect(await ping("3")).toBe("recorded");
    expect(database.uas()).toEqual(["1", "2", "3"]);
  });

  test("one that hangs delays no sender", async () => {
    const { ping, database, spool } = scripted();
    database.behaviour = "away";
    // Much longer than senders wait, even where timers are late.
    spool.delayMs = 30_000;
    const begun = awakeMs();
    expect(await Promise.all([ping("1"), sleep(100).then(() => ping("2"))])).toEqual(["busy", "busy"]);
    expect(awakeMs() - begun).toBeLessThan(2_000);
  });

  test("a refused connection of which nothing is known may have been for any check", async () => {
    const { intake } = scripted();
    const at = intake.now();
    intake.refused({ at, target: null, network: null });
    expect(intake.state()).toMatchObject({ refusingSinceAt: at, refusedCount: 1 });
  });

  test("a refused ping is attributed to what it named, and does not hold the watermark", async () => {
    const { intake } = scripted();
    const at = intake.now();
    const target = { by: "uuid", uuid: "a" } as const;
    intake.refused({ at, target, network: "192.0.2.1" });
    intake.refused({ at, target: null, network: "192.0.2.2" });
    const state = intake.state();
    expect(state).toMatchObject({ refusingSinceAt: null, refused: [], refusedCount: 2 });
    expect(state.attributed).toEqual({
      targets: [{ target, from: at, to: at }],
      networks: [{ network: "192.0.2.2", from: at, to: at }],
    });
    intake.markRefusalsStored(state.attributed);
    expect(intake.state().attributed).toEqual({ targets: [], networks: [] });
  });

  test("while no ping can be accepted, a rejection may be for any check", async () => {
    const { intake, ping, database } = scripted({ spoolless: true });
    database.behaviour = "away";
    expect(await ping("1", { network: "192.0.2.1" })).toBe("busy");
    expect(intake.state()).toMatchObject({ isBlocked: true, attributed: { targets: [], networks: [] } });
    expect(intake.state().refusingSinceAt).not.toBeNull();
  });

  test("a flood of unknown targets leaves room for known checks", async () => {
    const { intake, ping, database, known } = scripted({ spoolless: true });
    database.delayMs = 200;
    known.add("known");
    const unknown = words(1, 10_000).map((word) =>
      ping(word, { target: { by: "uuid", uuid: `stranger ${word}` }, network: "192.0.2.1" }),
    );
    expect(intake.state().queued).toBe(5_000);
    const mine = words(1, 100).map((word) => ping(word, { target: { by: "uuid", uuid: "known" } }));
    expect(intake.state().queued).toBe(5_100);
    const { attributed, refusingSinceAt } = intake.state();
    expect(refusingSinceAt).toBeNull();
    // A client can name any number of targets; beyond a hundred its network is recorded instead.
    expect(attributed.targets).toHaveLength(100);
    expect(attributed.networks).toMatchObject([{ network: "192.0.2.1" }]);
    database.delayMs = 0;
    await Promise.all([...unknown, ...mine]);
  });

  test("many creates of one ping key keep no other key waiting", async () => {
    const creating: string[] = [];
    let release = () => {};
    const held = new Promise<void>((resolve) => void (release = resolve));
    const { intake, ping, database } = scripted({
      spoolless: true,
      create: async (target) => {
        creating.push(target.by === "slug" ? target.pingKey : "");
        if (target.by === "slug" && target.pingKey === "greedy") await held;
        return "exists";
      },
    });
    for (const word of words(1, 300)) database.unknown.add(`greedy/${word}`);
    database.unknown.add("other/job");
    for (const pingKey of ["greedy", "other"]) {
      await ping("valid", { target: { by: "slug", pingKey, slug: "existing" } });
    }
    const of = (pingKey: string, slug: string) => ({
      create: true,
      target: { by: "slug", pingKey, slug } as const,
    });
    let busy = 0;
    const greedy = words(1, 300).map(async (word) => {
      if ((await ping(word, { ...of("greedy", word), network: "192.0.2.1" })) === "busy") busy += 1;
    });
    await expect.poll(() => creating).toEqual(["greedy", "greedy"]);
    await ping("other", of("other", "job"));
    expect(creating).toEqual(["greedy", "greedy", "other"]);
    await expect.poll(() => busy, { timeout: 10_000 }).toBe(298);
    expect(intake.state()).toMatchObject({ refusingSinceAt: null, refused: [] });
    release();
    await Promise.all(greedy);
  });

  test("creates with made-up ping keys keep no valid key waiting", async () => {
    const creating: string[] = [];
    const held = Promise.withResolvers<void>();
    const { ping, database } = scripted({
      spoolless: true,
      create: async (target) => {
        const pingKey = target.by === "slug" ? target.pingKey : "";
        creating.push(pingKey);
        if (pingKey === "valid") return "exists";
        await held.promise;
        return "unknown";
      },
    });
    const of = (pingKey: string, slug: string) => ({
      create: true,
      target: { by: "slug", pingKey, slug } as const,
    });
    expect(await ping("a", { ...of("valid", "existing"), create: false })).toBe("recorded");
    for (const word of words(1, 300)) database.unknown.add(`made-up-${word}/job`);
    database.unknown.add("valid/job");
    const strangers = words(1, 300).map((word) => ping(word, of(`made-up-${word}`, "job")));
    await expect.poll(() => creating).toHaveLength(2);
    await ping("b", of("valid", "job"));
    expect(creating).toEqual(["made-up-1", "made-up-2", "valid"]);
    held.resolve();
    await Promise.all(strangers);
  });

  // In a separate process: a loop that never leaves microtasks would block the test runner, including timeouts.
  test.each(["no-spool", "full-spool"])(
    "more signals than one batch leave timers running (%s)",
    async (which) => {
      const script = fileURLToPath(new URL("./support/reject-many.ts", import.meta.url));
      const { stdout } = await promisify(execFile)(process.execPath, [script, which], {
        timeout: 30_000,
        killSignal: "SIGKILL",
      });
      expect(stdout).toBe("refused 1200\nthen recorded\n");
    },
  );

  test("more than can wait is refused", async () => {
    const { intake, ping, database } = scripted({ spoolless: true });
    database.delayMs = 100;
    const answers = Promise.all(words(1, 20_100).map((word) => ping(word)));
    await sleep(50);
    const more = await Promise.all(words(1, 600).map((word) => ping(word)));
    expect(more.filter((kind) => kind === "busy").length).toBeGreaterThan(0);
    expect(new Set(await answers)).toEqual(new Set(["recorded", "busy"]));
    expect(intake.state().refusedCount).toBeGreaterThan(0);
  });
});

describe("commits that the database has lost", () => {
  test("are sent again when it is noticed", async () => {
    const { intake, ping, database } = scripted();
    for (const word of words(1, 5)) await ping(word);
    const { intakeId } = intake.state().confirmed;
    // A standby that had only two of the five takes over.
    database.lastSeq.set(intakeId, 2);
    database.applied.splice(2);
    intake.resend();
    await expect.poll(() => intake.state().isSpooling).toBe(false);
    expect(database.uas()).toEqual(words(1, 5));
    expect(database.skipped).toEqual([]);
    expect(await ping("6")).toBe("recorded");
  });

  test("are noticed by the next batch, which is not lost with them", async () => {
    const { intake, ping, database } = scripted();
    for (const word of words(1, 5)) await ping(word);
    database.lastSeq.set(intake.state().confirmed.intakeId, 3);
    database.applied.splice(3);
    expect(await ping("6")).toBe("recorded");
    await expect.poll(() => intake.state().isSpooling).toBe(false);
    expect(database.uas()).toEqual(words(1, 6));
  });

  test("while it was catching up are given once more before the next batch", async () => {
    const { intake, ping, database, spool } = scripted();
    database.behaviour = "away";
    for (const word of words(1, 6)) await ping(word);
    database.delayMs = 40;
    database.behaviour = "answers";
    await expect.poll(() => spool.batches.length).toBeLessThanOrEqual(3);
    const { intakeId } = intake.state().confirmed;
    database.lastSeq.set(intakeId, 1);
    database.applied.splice(1);
    await expect.poll(() => intake.state().isSpooling).toBe(false);
    expect(database.uas()).toEqual(words(1, 6));
    expect(database.skipped).toEqual([]);
  });

  test("and are no longer kept are skipped and reported", async () => {
    let ms = awakeMs();
    const { intake, ping, database } = scripted({ monotonic: () => ms });
    for (const word of words(1, 3)) await ping(word);
    ms += 61_000;
    intake.tidy();
    await ping("4");
    const { intakeId } = intake.state().confirmed;
    database.lastSeq.set(intakeId, 0);
    database.applied.splice(0);
    intake.resend();
    await expect.poll(() => intake.state().isSpooling).toBe(false);
    expect(database.skipped).toEqual([{ intakeId, lane: 0, seq: 3 }]);
    expect(await ping("5")).toBe("recorded");
    expect(database.uas()).toEqual(["4", "5"]);
  });

  test("a batch that another process has applied under the same number is not mistaken for ours", async () => {
    const { intake, ping, database } = scripted();
    database.lastSeq.set(intake.state().confirmed.intakeId, 1);
    expect(await ping("1")).toBe("busy");
    expect(await ping("2")).toBe("recorded");
    expect(database.uas()).toEqual(["2"]);
  });
});

describe("a ping that our own code fails on", () => {
  test("is refused, attributed to its check, and counted, while the others of its batch are recorded", async () => {
    const { intake, ping } = scripted({
      record: async (batch) => batch.signals.map(({ ua }) => (ua === "bad" ? "failed" : "recorded")),
    });
    expect(await Promise.all([ping("good"), ping("bad"), ping("fine")])).toEqual([
      "recorded",
      "busy",
      "recorded",
    ]);
    expect(intake.state()).toMatchObject({ failedCount: 1, refusedCount: 1, refusingSinceAt: null });
    expect(intake.state().attributed.targets).toHaveLength(1);
  });

  test("does not block the spool: after a few tries it may be quarantined", async () => {
    const tried: boolean[] = [];
    const { intake, ping, database } = scripted({
      record: async (batch, how) => {
        if (!how.replayed) return database.record(batch, how);
        tried.push(how.quarantinesFailed);
        if (!how.quarantinesFailed) throw new TypeError("our own fault");
        return batch.signals.map(() => "rejected");
      },
    });
    database.behaviour = "away";
    expect(await ping("bad")).toBe("recorded");
    await expect.poll(() => intake.state().isSpooling, { timeout: 20_000 }).toBe(false);
    expect(tried).toEqual([false, false, false, false, false, true]);
    expect(intake.state().rejectedCount).toBe(1);
  });
});

describe("a new id", () => {
  test("counts from the moment at which nothing of the old one is under way", async () => {
    const { intake, ping, database, spool } = scripted();
    await ping("1");
    database.behaviour = "away";
    await ping("2");
    const next = { intakeId: randomUUID(), spool: null };
    let isRenewed = false;
    const renewed = intake.renew({ identity: next, isAbandoning: false }).finally(() => {
      isRenewed = true;
    });
    await ping("3");
    expect(isRenewed).toBe(false);
    expect(new Set(spool.batches.map(({ intakeId }) => intakeId)).size).toBe(1);
    database.behaviour = "answers";
    await renewed;
    await ping("4");
    expect(database.applied.map(({ seq }) => seq)).toEqual([1, 2, 3, 1]);
    expect(database.applied.at(-1)?.intakeId).toBe(next.intakeId);
    expect(intake.state().confirmed).toEqual({ intakeId: next.intakeId, seqs: laneOnly(1) });
  });

  test("counts at once when nothing is under way", async () => {
    const { intake, ping, database } = scripted();
    const intakeId = randomUUID();
    await intake.renew({ identity: { intakeId, spool: null }, isAbandoning: false });
    await ping("1");
    expect(database.applied).toMatchObject([{ intakeId, seq: 1 }]);
  });

  test("abandons a spool that does not respond, and loses no acknowledged signal", async () => {
    const { intake, ping, database, spool } = scripted();
    const old = intake.state().confirmed.intakeId;
    database.behaviour = "away";
    expect(await ping("1")).toBe("recorded");
    spool.oldest = () => Promise.reject(new Error("the thread ended"));
    spool.append = () => Promise.reject(new Error("the thread ended"));
    expect(await ping("2")).toBe("busy");
    const next = new ScriptedSpool();
    next.batches.push(...spool.batches);
    next.orphans.add(old);
    await intake.renew({ identity: { intakeId: randomUUID(), spool: next }, isAbandoning: true });
    expect(await ping("3")).toBe("recorded");
    database.behaviour = "answers";
    await expect.poll(() => intake.state().isSpooling).toBe(false);
    expect(database.uas()).toEqual(["1", "3"]);
  });
});

describe("stopping", () => {
  test("settles what was taken, and takes nothing more", async () => {
    const { intake, ping, database } = scripted();
    database.delayMs = 20;
    const answers = words(1, 1_000).map((word) => ping(word));
    const stopped = intake.stop({ withinMs: 5_000 });
    expect(await ping("late")).toBe("busy");
    expect(await stopped).toBe(true);
    expect(new Set(await Promise.all(answers))).toEqual(new Set(["recorded"]));
  });

  test("during the fallback records as much as possible in the database", async () => {
    const { intake, ping, database } = scripted();
    database.behaviour = "away";
    for (const word of words(1, 5)) await ping(word);
    database.behaviour = "answers";
    expect(await intake.stop({ withinMs: 5_000 })).toBe(true);
    expect(database.uas()).toEqual(words(1, 5));
  });

  test("in an outage ends soon, and says that something is left", async () => {
    const { intake, ping, database, spool } = scripted();
    database.behaviour = "hangs";
    const first = ping("1");
    await sleep(100);
    const begun = awakeMs();
    expect(await intake.stop({ withinMs: 1_500 })).toBe(false);
    expect(awakeMs() - begun).toBeLessThan(3_000);
    expect(await first).toBe("recorded");
    expect(spool.batches.map(({ seq }) => seq)).toEqual([1]);
  });

  test("does not exceed its time limit, however much is spooled", async () => {
    const { intake, ping, database, spool } = scripted();
    database.behaviour = "away";
    for (const word of words(1, 20)) await ping(word);
    database.delayMs = 100;
    database.behaviour = "answers";
    const begun = awakeMs();
    expect(await intake.stop({ withinMs: 500 })).toBe(false);
    expect(awakeMs() - begun).toBeLessThan(1_000);
    expect(spool.batches.length).toBeGreaterThan(0);
  });
});

describe("lanes", () => {
  /** One known target for each lane. */
  function laneTargets({ known }: { known: Set<string> }) {
    const targets = Array.from({ length: LANES }, (_, lane) => targetOf(lane));
    for (const target of targets) known.add(nameOf(target));
    return targets;
  }

  test("record one batch each at the same time, each numbered on its own, and keep the order of a target", async () => {
    const all = scripted();
    const targets = laneTargets(all);
    all.database.delayMs = 5;
    const answers: Promise<string>[] = [];
    for (const word of words(1, 1_200)) {
      for (const [lane, target] of targets.entries()) answers.push(all.ping(`${lane} ${word}`, { target }));
      if (Number(word) % 300 === 0) await sleep(3);
    }
    expect(new Set(await Promise.all(answers))).toEqual(new Set(["recorded"]));
    expect(all.database.inFlightMax).toBe(LANES);
    for (const lane of targets.keys()) {
      const mine = all.database.applied.filter((one) => one.lane === lane);
      expect(mine.map(({ ua }) => ua)).toEqual(words(1, 1_200).map((word) => `${lane} ${word}`));
      const numbers = [...new Set(mine.map(({ seq }) => seq))];
      expect(numbers).toEqual(words(1, numbers.length).map(Number));
    }
  });

  test("after a long outage, one sends the batches before it again, although another has already done so", async () => {
    let ms = awakeMs();
    const all = scripted({ monotonic: () => ms });
    const targets = laneTargets(all);
    for (const [lane, target] of targets.entries()) await all.ping(`${lane}`, { target });
    all.database.behaviour = "away";
    await all.ping("later", { target: targetOf(0) });
    ms += 61_000;
    // A standby without any of them takes over. The first lane notices by itself, the others by the heartbeat.
    all.database.lastSeq.clear();
    all.database.applied.splice(0);
    all.database.behaviour = "answers";
    await expect.poll(() => all.intake.state().isSpooling).toBe(false);
    expect(all.database.uas()).toEqual(["0", "later"]);
    all.intake.resend();
    await expect.poll(() => all.intake.state().isSpooling).toBe(false);
    expect(all.database.skipped).toEqual([]);
    expect(new Set(all.database.uas())).toEqual(
      new Set(["later", ...words(1, LANES).map((word) => `${Number(word) - 1}`)]),
    );
  });

  test("one that waits for a locked check delays no other, and holds the watermark", async () => {
    const database = new ScriptedDatabase();
    const gate = Promise.withResolvers<void>();
    const all = scripted({
      record: async (batch, how) => {
        if (batch.lane === 1) await gate.promise;
        return database.record(batch, how);
      },
    });
    const targets = laneTargets(all);
    const at = all.intake.now();
    const held = all.ping("held", { target: targetOf(1), at });
    for (const target of targets.filter((_, lane) => lane !== 1))
      expect(await all.ping("free", { target })).toBe("recorded");
    expect(all.intake.state().oldestUnappliedAt).toBe(at);
    gate.resolve();
    expect(await held).toBe("recorded");
    expect(all.intake.state().oldestUnappliedAt).toBeNull();
  });

  test("all use the spool once one of them does, and replay in its order", async () => {
    const all = scripted();
    const targets = laneTargets(all);
    for (const target of targets) await all.ping("before", { target });
    all.database.behaviour = "away";
    for (const word of words(1, 3)) {
      const answers = targets.map((target, lane) => all.ping(`${lane} ${word}`, { target }));
      expect(await Promise.all(answers)).toEqual(targets.map(() => "recorded"));
    }
    const spooled = all.spool.batches.flatMap(({ signals }) => signals.map(({ ua }) => ua));
    expect(spooled).toHaveLength(3 * LANES);
    all.database.behaviour = "answers";
    await expect.poll(() => all.intake.state().isSpooling, { timeout: 10_000 }).toBe(false);
    expect(all.database.uas().slice(LANES)).toEqual(spooled);
    expect(all.intake.state()).toMatchObject({
      oldestUnappliedAt: null,
      confirmed: { seqs: targets.map(() => 4) },
    });
  });

  test("the oldest signal in the spool holds the watermark, whichever lane it is in", async () => {
    const all = scripted();
    const [first = OTHER, second = OTHER] = laneTargets(all);
    all.database.behaviour = "away";
    const at = all.intake.now();
    await all.ping("newer", { target: first, at: at + 500 });
    await all.ping("older", { target: second, at });
    expect(all.spool.batches.map(({ signals }) => signals[0]?.ua)).toEqual(["newer", "older"]);
    await sleep(600);
    expect(all.intake.state().oldestUnappliedAt).toBe(at);
  });

  test("batches that neither the database nor the spool takes are settled before later ones", async () => {
    const all = scripted();
    const targets = laneTargets(all);
    all.database.behaviour = "away";
    all.spool.isFull = true;
    const refused = targets.map((target, lane) => all.ping(`${lane} refused`, { target }));
    expect(await Promise.all(refused)).toEqual(targets.map(() => "busy"));
    expect(all.intake.state().isBlocked).toBe(true);
    all.spool.isFull = false;
    await expect.poll(() => all.intake.state().isBlocked, { timeout: 10_000 }).toBe(false);
    const later = targets.map((target, lane) => all.ping(`${lane} later`, { target }));
    expect(await Promise.all(later)).toEqual(targets.map(() => "recorded"));
    all.database.behaviour = "answers";
    await expect.poll(() => all.intake.state().isSpooling, { timeout: 10_000 }).toBe(false);
    for (const lane of targets.keys()) {
      const mine = all.database.applied.filter((one) => one.lane === lane).map(({ ua }) => ua);
      expect(mine.slice(-1)).toEqual([`${lane} later`]);
    }
  });

  test("spooling ends although the lanes are always busy", async () => {
    const all = scripted();
    const targets = laneTargets(all);
    all.database.behaviour = "away";
    await all.ping("first");
    all.database.delayMs = 20;
    // Nearly always, one of the lanes is writing.
    all.spool.delayMs = 300;
    const sender = { isOver: false };
    // Several for each lane, so that there is always one that waits; the lanes write in turns.
    const sending = [...targets, ...targets, ...targets].map(async (target, index) => {
      await sleep((index % LANES) * 90);
      while (!sender.isOver) expect(await all.ping("on and on", { target })).toBe("recorded");
    });
    await sleep(600);
    all.database.behaviour = "answers";
    await expect.poll(() => all.intake.state().isSpooling, { timeout: 10_000 }).toBe(false);
    sender.isOver = true;
    await Promise.all(sending);
  });

  test("a new id comes into use although the lanes are always busy", async () => {
    const all = scripted();
    const targets = laneTargets(all);
    all.database.delayMs = 20;
    const sender = { isOver: false };
    const sending = targets.map(async (target) => {
      while (!sender.isOver) expect(await all.ping("on and on", { target })).toBe("recorded");
    });
    await sleep(50);
    const intakeId = randomUUID();
    await all.intake.renew({ identity: { intakeId, spool: all.spool }, isAbandoning: false });
    await sleep(100);
    sender.isOver = true;
    await Promise.all(sending);
    const firstNew = all.database.applied.findIndex((one) => one.intakeId === intakeId);
    const after = all.database.applied.slice(firstNew);
    expect(new Set(after.map((one) => one.intakeId))).toEqual(new Set([intakeId]));
    expect(new Set(after.map(({ lane }) => lane))).toEqual(new Set(targets.keys()));
  });
});
