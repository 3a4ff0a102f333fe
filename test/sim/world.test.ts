import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import type { Step } from "./model/history.ts";
import { appliedSteps } from "./world/check-history.ts";
import { clocksOf } from "./world/clocks.ts";
import { generateWorld } from "./world/generate.ts";
import { serverHistory } from "./world/server-history.ts";
import { receptionOf } from "./world/receipt.ts";
import { describeWorld, readWorld } from "./world/text.ts";
import { type Fault, projectOf, shortened, type World } from "./world/world.ts";

const SIZE = { days: 14, checks: 60 };

function stepsOf(world: World): Step[] {
  const context = { clocks: clocksOf(world.head), reception: receptionOf(world.head) };
  return Array.from({ length: world.checkCount }, (_, index) =>
    appliedSteps(world.check(index), index, context),
  )
    .flat()
    .map(({ step }) => step);
}

describe("a generated world", () => {
  test("depends only on its seed", () => {
    const text = describeWorld(generateWorld({ ...SIZE, seed: 1 }));
    expect(describeWorld(generateWorld({ ...SIZE, seed: 1 }))).toBe(text);
    expect(describeWorld(generateWorld({ ...SIZE, seed: 2 }))).not.toBe(text);
  });

  test("generates each check independently", () => {
    const world = generateWorld({ ...SIZE, seed: 3 });
    const again = generateWorld({ ...SIZE, seed: 3 });
    for (let index = 0; index < 40; index += 1) world.check(index);
    expect(again.check(40)).toEqual(world.check(40));
  });

  test("has every kind of fault", () => {
    const kinds = new Set<Fault["kind"]>();
    for (let seed = 1; seed <= 5; seed += 1) {
      for (const { kind } of generateWorld({ ...SIZE, checks: 1_000, seed }).head.faults) kinds.add(kind);
    }
    expect([...kinds].toSorted()).toEqual([
      "all-stopped",
      "clock-step",
      "cut-crash",
      "database-away",
      "intake-crash",
      "intake-cut",
      "notifier-down",
      "receiver-failing",
      "receiver-gone",
      "refusing",
      "sweeper-down",
      "twice",
    ]);
  });

  test("has every kind of action, including refused and replayed ones", () => {
    const steps = stepsOf(generateWorld({ ...SIZE, checks: 300, seed: 4 }));
    const signals = steps.filter((step) => step.what === "signal");
    expect(new Set(steps.map(({ what }) => what))).toEqual(
      new Set(["signal", "pause", "resume", "edit", "delete"]),
    );
    expect(new Set(signals.map(({ kind }) => kind))).toEqual(new Set(["success", "fail", "start", "log"]));
    expect(signals.some(({ rid }) => rid !== null)).toBe(true);
    expect(signals.some(({ isAcknowledged }) => !isAcknowledged)).toBe(true);
    expect(signals.some(({ at, trueAt }) => at < trueAt - 60_000)).toBe(true);
  });

  test("has policies and silences only if asked for, and their random numbers change nothing else", () => {
    const plain = generateWorld({ ...SIZE, seed: 6 });
    const world = generateWorld({ ...SIZE, seed: 6, policies: true });
    const plans = (one: World) => Array.from({ length: SIZE.checks }, (_, index) => one.check(index));
    expect(plain.head.silences).toEqual([]);
    expect(plans(plain).every(({ settings, tags }) => settings.rules === null && tags.length === 0)).toBe(
      true,
    );
    const created = (one: World) => plans(one).map(({ createdTrueAt }) => createdTrueAt);
    expect(created(world)).toEqual(created(plain));
    const rules = plans(world).flatMap((plan) => plan.settings.rules ?? []);
    expect(rules.some(({ failures }) => failures.count > 1)).toBe(true);
    expect(rules.some(({ missed }) => missed > 1)).toBe(true);
    expect(rules.some(({ recovery }) => recovery > 1)).toBe(true);
    expect(rules.some(({ maxRunSeconds }) => maxRunSeconds === 0)).toBe(true);
    expect(rules.some(({ earlySeconds }) => earlySeconds > 0)).toBe(true);
    expect(plans(world).some(({ parents }) => parents.length > 0)).toBe(true);
    const { silences } = world.head;
    expect(new Set(silences.map(({ scope }) => scope.kind))).toEqual(new Set(["all", "tag", "checks"]));
    expect(new Set(silences.map(({ times }) => times.kind))).toEqual(new Set(["once", "recurring"]));
    expect(silences.some(({ times }) => times.isUntilSuccess)).toBe(true);
    const changes = silences.flatMap((silence) => silence.changes);
    expect(changes.some(({ times }) => times === null)).toBe(true);
    expect(changes.some(({ times }) => times !== null)).toBe(true);
  });

  test("has checks that depend on checks of their project", () => {
    const world = generateWorld({ seed: 4, days: 5, checks: 100, policies: true });
    const checks = Array.from({ length: world.checkCount }, (_, index) => world.check(index));
    const projects = new Map(checks.map((check) => [check.name, projectOf(check)]));
    const children = checks.filter(({ parents }) => parents.length > 0);
    expect(children.length).toBeGreaterThan(10);
    for (const { name, parents } of children) {
      for (const parent of parents) expect([name, projects.get(parent)]).toEqual([name, projects.get(name)]);
    }
  });

  test("has edits of the rules or of the schedule, in the order in which they were made", () => {
    const world = generateWorld({ seed: 21, days: 1, checks: 10_000, policies: true });
    // Its edits had to wait until the server was reachable.
    const { settings, actions } = world.check(1443);
    const edits = actions.flatMap((action) => (action.what === "edit" ? [action.settings] : []));
    const before = [settings, ...edits];
    const ofBoth = edits.filter(({ rules, ...rest }, index) => {
      const { rules: rulesBefore, ...restBefore } = before[index] ?? settings;
      return !isDeepStrictEqual(rules, rulesBefore) && !isDeepStrictEqual(rest, restBefore);
    });
    expect(edits.length).toBeGreaterThan(1);
    expect(ofBoth).toEqual([]);
  });

  test("lists steps in the order in which the server recorded them", () => {
    const world = generateWorld({ ...SIZE, seed: 5 });
    const context = { clocks: clocksOf(world.head), reception: receptionOf(world.head) };
    for (let index = 0; index < world.checkCount; index += 1) {
      const times = appliedSteps(world.check(index), index, context).map(({ step }) => step.trueAt);
      expect(times).toEqual(times.toSorted((one, other) => one - other));
    }
  });

  test("has ordered turns and blind intervals, and a receipt time that never goes back", () => {
    const { turns, blind } = serverHistory(generateWorld({ ...SIZE, seed: 6 }).head);
    for (const [index, turn] of turns.entries()) {
      const before = turns[index - 1];
      expect(turn.trueAt).toBeGreaterThan(before?.trueAt ?? -Infinity);
      expect(turn.at).toBeGreaterThanOrEqual(before?.at ?? -Infinity);
    }
    for (const [index, { from, to }] of blind.entries()) {
      expect(to).toBeGreaterThanOrEqual(from);
      expect(from).toBeGreaterThanOrEqual(blind[index - 1]?.to ?? -Infinity);
    }
  });

  test("can end earlier, between faults of intakes", () => {
    const world = generateWorld({ ...SIZE, seed: 7 });
    const [first] = world.head.faults.filter(({ kind }) => kind === "database-away");
    if (first === undefined) throw new Error("the world has no database outage");
    expect(() => shortened(world, first.from + 1_000)).toThrow("during database-away");
    const short = shortened(world, first.to);
    expect(short.head.faults.every(({ to }) => to <= first.to + 1)).toBe(true);
    expect(short.check(0).actions.every(({ trueAt }) => trueAt <= first.to)).toBe(true);
  });
});

describe("the text of a world", () => {
  test.each([false, true])("round-trips (with policies: %s)", (policies) => {
    const world = generateWorld({ ...SIZE, seed: 8, policies });
    const text = describeWorld(world);
    const read = readWorld(text);
    expect(read.head).toEqual(world.head);
    for (let index = 0; index < world.checkCount; index += 1)
      expect(read.check(index)).toEqual(world.check(index));
    expect(describeWorld(read)).toBe(text);
  });

  test("can contain some of the checks", () => {
    const world = generateWorld({ ...SIZE, seed: 9 });
    const read = readWorld(describeWorld(world, [12]));
    expect(read.checkCount).toBe(1);
    expect(read.check(0)).toEqual(world.check(12));
  });

  test("names the invalid line in errors", () => {
    const head = "world from 2026-03-28T00:00Z days 2 intakes 2 channels 1 turns 60s";
    expect(() => readWorld(`${head}\nfault earthquake 0.01:00 0.02:00`)).toThrow("line 2");
    expect(() => readWorld(`${head}\ncheck a simple 1h grace 5m\n  0.01:00 dance`)).toThrow("line 3");
    expect(() => readWorld("")).toThrow("The world is empty");
  });

  test("can contain comments", () => {
    const read = readWorld(`# a world
world from 2026-03-28T00:00Z days 2 intakes 2 channels 1 turns 60s # of two days
check a simple 1h grace 5m`);
    expect(read.checkCount).toBe(1);
  });

  test("cannot have overlapping faults of intakes", () => {
    const text = `world from 2026-03-28T00:00Z days 2 intakes 2 channels 1 turns 60s
fault database-away 0.01:00 0.02:00
fault intake-cut 0 0.01:30 0.01:35`;
    expect(() => serverHistory(readWorld(text).head)).toThrow("overlap");
  });
});
