// A list that the client has already: answered with 304 without reading its checks, but never if it would differ.
import * as fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { MINUTE_MS } from "../../src/core/instant.ts";
import { CONFIG_RULES } from "../../src/channels/registry.ts";
import { createChannel, deleteChannel, updateChannel } from "../../src/operations/channels.ts";
import { restoreCheck, transferCheck, trashCheck } from "../../src/operations/checks.ts";
import { UNSEEN } from "../support/checks-under-change.ts";
import { checksAt, newCheck, signals, type Version } from "./asking.ts";
import { useCast } from "./cast.ts";

vi.setConfig({ testTimeout: 300_000 });

const cast = useCast();

/** Lists that a client can ask for. */
type Sight = { version: Version; kind: "rw" | "ro"; query: string };
const SIGHTS: readonly Sight[] = [
  { version: 3, kind: "rw", query: "" },
  { version: 3, kind: "ro", query: "" },
  { version: 1, kind: "rw", query: "" },
  { version: 2, kind: "ro", query: "?tag=a" },
  { version: 3, kind: "rw", query: "?slug=one" },
];

let clock: number | null = null;
let listed = 0;
let onStatement: ((name: string) => Promise<void>) | null = null;

/** Sets the time of requests, and sees the statements that they send. */
function watchServer(): void {
  const { serverDb } = cast;
  const query = serverDb.query.bind(serverDb);
  vi.spyOn(serverDb, "query").mockImplementation(async (statement, values) => {
    const result = await query(statement, values);
    if (statement.name === "checks.list") listed += 1;
    if (clock !== null && statement.name.startsWith("keys.find")) {
      for (const row of result.rows) Object.assign(row, { at: clock });
    }
    await onStatement?.(statement.name);
    return result;
  });
}

afterEach(() => {
  vi.restoreAllMocks();
  clock = null;
  onStatement = null;
});

function ask({ version, kind, query }: Sight, tag?: string) {
  const headers = tag === undefined ? {} : { "If-None-Match": tag };
  return cast.ask(checksAt(version) + query, { key: cast.owner[kind], headers });
}

const [EVERYTHING] = SIGHTS as [Sight];

test("a list that has not changed is answered without reading it, also after other requests", async () => {
  watchServer();
  await newCheck(cast, { name: "same" });
  const first = await ask(EVERYTHING);
  const tag = first.headers.get("etag") ?? "";
  listed = 0;
  const second = await ask(EVERYTHING, tag);
  expect([second.status, second.bytes.length, listed]).toEqual([304, 0, 0]);
  for (const header of ["etag", "cache-control", "access-control-allow-origin", "ratelimit-limit"]) {
    expect(second.headers.get(header), header).toBe(first.headers.get(header));
  }
  const weak = await ask(EVERYTHING, `"other", W/${tag}`);
  expect([weak.status, listed]).toEqual([304, 0]);
  expect([(await ask(EVERYTHING, '"other"')).status, listed]).toEqual([200, 1]);
});

test("a change while the list is read is not missed", async () => {
  watchServer();
  const { uuid } = await newCheck(cast, { name: "before" });
  const rename = (name: string) =>
    cast.ask(checksAt() + uuid, { method: "POST", key: cast.owner.rw, body: { name } });
  let isDone = false;
  onStatement = async (name) => {
    if (name !== "checks.list" || isDone) return;
    isDone = true;
    await rename("after");
  };
  const tag = (await ask(EVERYTHING)).headers.get("etag") ?? "";
  expect(isDone).toBe(true);
  const next = await ask(EVERYTHING, tag);
  expect([next.status, next.text.includes('"after"')]).toEqual([200, true]);
});

test("a channel that gets its checks while the list is read is not missed", async () => {
  watchServer();
  await newCheck(cast, { name: "with channel" });
  let isDone = false;
  onStatement = async (name) => {
    if (name !== "checks.list_channels" || isDone) return;
    isDone = true;
    await makeChannel("*");
  };
  const first = await ask(EVERYTHING);
  expect(isDone).toBe(true);
  const tag = first.headers.get("etag") ?? "";
  expect((await ask(EVERYTHING)).headers.get("etag")).toBe(tag);
  expect(first.text).toContain(channels.at(-1) ?? "none");
});

const channels: string[] = [];
const circumstances = () => ({
  projectId: cast.owner.project.id,
  rules: CONFIG_RULES,
  mailVerification: false,
  by: { accountId: null, keyId: null },
  at: Date.now(),
});

async function makeChannel(checks: "*" | string[]): Promise<void> {
  const config = { topic: "overdue_alerts-7" };
  const made = await createChannel(cast.db, {
    ...circumstances(),
    kind: "ntfy",
    name: "",
    config,
    isEnabled: true,
    checks,
    once: null,
  });
  channels.push(made.channel.uuid);
}

/** The checks that a run of the property has made. */
type World = { checks: string[]; trash: string[] };
type Step = { what: keyof typeof STEPS; pick: number; minutes: number };

const post = (path: string, body?: object) =>
  cast.ask(checksAt() + path, { method: "POST", key: cast.owner.rw, ...(body !== undefined && { body }) });
const command = (uuid: string) => ({
  ...circumstances(),
  uuid,
  accountId: null,
  visibility: UNSEEN,
  checkLimitDefault: null,
});

const STEPS = {
  create: async (world: World, { pick }: Step) => {
    const schedule = pick % 3 === 0 ? { schedule: "*/5 * * * *", tz: "Europe/Riga" } : { timeout: 300 };
    const names = {
      name: `job ${pick}`,
      slug: pick % 2 === 0 ? "one" : "",
      tags: pick % 2 === 0 ? "a b" : "b",
    };
    world.checks.push((await newCheck(cast, { ...names, ...schedule, grace: 120, channels: "*" })).uuid);
  },
  rename: async (_world: World, { pick }: Step, uuid: string) =>
    void (await post(uuid, { name: `job ${pick}` })),
  retag: async (_world: World, { pick }: Step, uuid: string) =>
    void (await post(uuid, { tags: pick % 2 === 0 ? "a" : "", slug: pick % 3 === 0 ? "one" : "two" })),
  reassign: async (_world: World, { pick }: Step, uuid: string) =>
    void (await post(uuid, { channels: pick % 2 === 0 ? "" : "*" })),
  ping: (_world: World, _step: Step, uuid: string) => signals(cast, uuid),
  start: (_world: World, _step: Step, uuid: string) => signals(cast, uuid, [{ action: "start" }]),
  fail: (_world: World, _step: Step, uuid: string) => signals(cast, uuid, [{ action: "fail" }]),
  pause: async (_world: World, _step: Step, uuid: string) => void (await post(`${uuid}/pause`)),
  resume: async (_world: World, _step: Step, uuid: string) => void (await post(`${uuid}/resume`)),
  remove: async (world: World, _step: Step, uuid: string) => {
    await cast.ask(checksAt() + uuid, { method: "DELETE", key: cast.owner.rw });
    world.checks = world.checks.filter((one) => one !== uuid);
  },
  trash: async (world: World, _step: Step, uuid: string) => {
    await trashCheck(cast.db, command(uuid));
    world.checks = world.checks.filter((one) => one !== uuid);
    world.trash.push(uuid);
  },
  restore: async (world: World) => {
    const uuid = world.trash.pop();
    if (uuid === undefined) return;
    await restoreCheck(cast.db, command(uuid));
    world.checks.push(uuid);
  },
  transfer: async (world: World, _step: Step, uuid: string) => {
    const to = { id: cast.mate.project.id, name: "other" };
    await transferCheck(cast.db, { ...command(uuid), to, from: { name: "own" } });
    world.checks = world.checks.filter((one) => one !== uuid);
  },
  addChannel: async (world: World, { pick }: Step) =>
    makeChannel(pick % 2 === 0 ? "*" : world.checks.slice(0, pick % 3)),
  changeChannel: async (world: World, { pick }: Step) => {
    const uuid = channels[pick % Math.max(channels.length, 1)];
    if (uuid === undefined) return;
    const change = { checks: pick % 2 === 0 ? ("*" as const) : world.checks.slice(0, pick % 3) };
    await updateChannel(cast.db, { ...circumstances(), uuid, expected: null, change });
  },
  removeChannel: async () => {
    const uuid = channels.pop();
    if (uuid !== undefined) await deleteChannel(cast.db, { ...circumstances(), uuid, expected: null });
  },
  wait: async (_world: World, { minutes }: Step) => {
    clock = (clock ?? 0) + minutes * MINUTE_MS;
  },
  nothing: async () => undefined,
} satisfies Record<string, (world: World, step: Step, uuid: string) => Promise<void>>;

test("304 is answered exactly when the list is the same, whatever happens in between", async () => {
  watchServer();
  let shortcuts = 0;
  const steps = fc.array(
    fc.record({
      what: fc.constantFrom(...(Object.keys(STEPS) as (keyof typeof STEPS)[])),
      pick: fc.nat(20),
      minutes: fc.integer({ min: 0, max: 4 }),
    }),
    { minLength: 4, maxLength: 14 },
  );
  const property = fc.asyncProperty(steps, fc.nat(SIGHTS.length - 1), async (history, at) => {
    const sight = SIGHTS[at] ?? EVERYTHING;
    clock = await cast.now();
    const world: World = { checks: [], trash: [] };
    await STEPS.create(world, { what: "create", pick: 0, minutes: 0 });
    await STEPS.create(world, { what: "create", pick: 2, minutes: 0 });
    let tag = (await ask(sight)).headers.get("etag") ?? "";
    for (const step of history) {
      const uuid = world.checks[step.pick % Math.max(world.checks.length, 1)];
      if (uuid !== undefined || step.what === "create") await STEPS[step.what](world, step, uuid ?? "");
      listed = 0;
      const answer = await ask(sight, tag);
      if (answer.status === 304 && listed === 0) shortcuts += 1;
      const truth = await ask(sight);
      const current = truth.headers.get("etag") ?? "";
      expect([answer.status, answer.headers.get("etag")], JSON.stringify(step)).toEqual([
        current === tag ? 304 : 200,
        current,
      ]);
      tag = current;
    }
    await cast.db.pool.query("delete from checks where project_id = any ($1)", [
      [cast.owner.project.id, cast.mate.project.id],
    ]);
  });
  await fc.assert(property, { numRuns: 40 });
  expect(shortcuts).toBeGreaterThan(20);
});
