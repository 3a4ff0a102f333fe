// Fire drills through the real sweep, planner and notifier, to receivers of every kind: nothing arrives by default, what
// is sent is marked and closed again, and nothing else changes.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { MailPort } from "../../src/channels/channel-kind.ts";
import { KINDS } from "../../src/channels/registry.ts";
import { FIRE_DRILL_MARK } from "../../src/core/fire-drill.ts";
import { HOUR_MS, type Instant } from "../../src/core/instant.ts";
import { DELIVERY_LEASE_MS, FIRE_DRILL_MS_MAX, FIRE_DRILL_SEND_EVERY_MS } from "../../src/core/limits.ts";
import { type GuardedHttp, guardedHttp } from "../../src/lib/outgoing-http.ts";
import type { Ports } from "../../src/operations/deliveries.ts";
import {
  driveFireDrills,
  type FireDrillResult,
  getFireDrill,
  listFireDrills,
  setDrillSchedule,
  startFireDrill,
} from "../../src/operations/fire-drills.ts";
import { checkIdentity } from "../../src/operations/database-identity.ts";
import { planAlerts } from "../../src/operations/plan-alerts.ts";
import { deliverDue } from "../../src/operations/send-loop.ts";
import { createSilence } from "../../src/operations/silences.ts";
import { sweepDeadlines } from "../../src/operations/sweep.ts";
import { type Channel, disableChannel, listManagedChannels } from "../../src/store/channels.ts";
import type { CheckWithState } from "../../src/store/checks.ts";
import type { Project } from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { openMailSender } from "../../src/lib/mail-sender.ts";
import { CONFIGS, PROVIDERS, RECEIVERS, sampleSender } from "../channels/sample-kinds.ts";
import { NOW } from "../channels/sample-messages.ts";
import type { IncidentReceiver } from "../receivers/incidents.ts";
import type { Receiver } from "../receivers/receiver.ts";
import { reroute } from "../receivers/reroute.ts";
import { startSmtp } from "../receivers/smtp.ts";
import { COMPILE_CACHE } from "../support/compile-cache.ts";
import { useDatabase } from "../support/database.ts";
import { addChannel, assign } from "../support/owed.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";
import { sightUntil } from "../support/sweeping.ts";

const at = useDatabase();
/** Some receivers compare times with theirs. */
const START = NOW;
const BY = { accountId: null, keyId: null };
const HTTP_KINDS = KINDS.map(({ name }) => name).filter((name) => RECEIVERS[name] !== undefined);
const WEBHOOK = {
  url_down: "https://hooks.example.org/$STATUS",
  url_up: "https://hooks.example.org/$STATUS",
};

let http: GuardedHttp;
let receivers: Map<string, Receiver>;

beforeAll(() => {
  http = guardedHttp({ allowPrivate: true, userAgent: "Overdue" });
});
afterAll(() => http.close());
beforeEach(async () => {
  receivers = new Map();
  await at.db.pool.query(
    "truncate projects, checks, channels, deliveries, alerts, flips, incidents, fire_drills, database_identity cascade",
  );
});
afterEach(async () => {
  for (const receiver of receivers.values()) await receiver.close();
});

/** A receiver of a kind, started when it is first asked for. */
async function receiverOf(kind: string): Promise<Receiver> {
  const known = receivers.get(kind);
  if (known !== undefined) return known;
  const of = RECEIVERS[kind];
  if (of === undefined) throw new Error(`there is no receiver of ${kind}`);
  const receiver = await of.start();
  receivers.set(kind, receiver);
  return receiver;
}

async function portsTo(kind: string): Promise<Ports> {
  const receiver = await receiverOf(kind);
  const origins = RECEIVERS[kind]?.origins ?? [];
  return sampleSender({
    http: reroute(http, Object.fromEntries(origins.map((origin) => [origin, receiver.url]))),
  });
}

type Place = { project: Project; check: CheckWithState; channel: Channel; ports: Ports };
type World = Place & { receiver: Receiver };

async function makeWorld(kind = "webhook"): Promise<World> {
  const place = await makePlace({ kind, config: CONFIGS[kind] ?? WEBHOOK, ports: await portsTo(kind) });
  return { ...place, receiver: await receiverOf(kind) };
}

/** A project with a check and a channel. */
async function makePlace({
  kind,
  config,
  ports,
}: {
  kind: string;
  config: object;
  ports: Ports;
}): Promise<Place> {
  const project = await sampleProject(at.db);
  const check = await sampleCheck(at.db, { projectId: project.id, name: "Nightly backup", tags: "db" });
  const channel = await addChannel(at.db, { projectId: project.id, kind, config });
  await assign(at.db, check, [channel]);
  return { project, check, channel, ports };
}

const start = ({ project, check }: Place, given: { isSent?: boolean; at?: Instant; check?: null } = {}) =>
  startFireDrill(at.db, {
    project,
    check: given.check === null ? null : check.uuid,
    isSent: given.isSent ?? false,
    by: BY,
    at: given.at ?? START,
  });

const sweep = (now: Instant) => sweepDeadlines(at.db, { now, visibility: sightUntil(now) });

/** One round of all loops at an instant. */
async function round({ ports }: Place, now: Instant): Promise<void> {
  await sweep(now);
  await deliverDue(at.db, { now, ports });
  await driveFireDrills(at.db, now);
}

/** Runs a drill to its end. */
async function run(world: Place, given: Parameters<typeof start>[1] = {}): Promise<FireDrillResult> {
  const from = given.at ?? START;
  const { drill } = await start(world, given);
  // The last ones are for kinds with a rate limit.
  for (const ms of [1_500, 2_000, 2_500, 62_000, 63_000]) await round(world, from + ms);
  return getFireDrill(at.db, { projectId: world.project.id, uuid: drill.uuid });
}

/** Rows of everything that users see, except the drills. */
async function visibleRows(): Promise<Record<string, number>> {
  const tables = [
    "projects",
    "checks",
    "check_states",
    "incidents",
    "alerts",
    "flips",
    "deliveries",
    "events",
  ];
  const counts = await Promise.all(
    [...tables, "silences", "tag_rules", "incident_events", "notice_checks"].map(async (table) => {
      const { rows } = await at.db.pool.query<{ count: string }>(
        `select count(*)::int as count from ${table}`,
      );
      return [table, Number(rows[0]?.count)] as const;
    }),
  );
  return Object.fromEntries(counts);
}

describe.each(HTTP_KINDS)("%s", (kind) => {
  test("gets nothing by default, and the message is rendered", async () => {
    const world = await makeWorld(kind);
    const { drill, messages } = await run(world);
    expect(world.receiver.received).toEqual([]);
    expect(drill).toMatchObject({ outcome: "ok", isSent: false, closedAt: null, checkId: null });
    expect(messages).toEqual([
      expect.objectContaining({
        outcome: "notSent",
        reason: "Not sent (fire drill)",
        title: expect.stringContaining(`${FIRE_DRILL_MARK} Nightly backup`),
      }),
    ]);
    expect(messages[0]?.requests.length).toBeGreaterThan(0);
  });

  test("gets a marked message on request, and it is closed again", async () => {
    const world = await makeWorld(kind);
    const { receiver } = world;
    const { drill, messages } = await run(world, { isSent: true });
    expect(receiver.problems).toEqual([]);
    expect(receiver.received.length).toBeGreaterThan(0);
    expect(drill).toMatchObject({ outcome: "ok", isSent: true, checkId: null });
    const subscribed = world.ports.isSubscribed(world.channel, "up");
    const closing = { outcome: subscribed ? "sent" : "skipped" };
    expect(messages[0]).toMatchObject({ outcome: "sent", closing });
    if (KINDS.find(({ name }) => name === kind)?.category === "incidents") expect(subscribed).toBe(true);
    const shown = JSON.stringify(messages[0]);
    expect(shown).toContain(FIRE_DRILL_MARK);
    // Web push is encrypted.
    if (kind !== "webpush") {
      const texts = receiver.received.map(({ body, path, headers }) =>
        readable(`${body} ${path} ${JSON.stringify(headers)}`),
      );
      expect(texts.filter((text) => text.includes("Fire drill"))).not.toEqual([]);
    }
    if ("incidents" in receiver) {
      const { incidents, unmatched = [] } = receiver as Partial<IncidentReceiver>;
      expect([incidents?.size, unmatched]).toEqual([0, []]);
    }
  });
});

/** Forms are encoded. */
function readable(text: string): string {
  const plain = text.replaceAll("+", " ");
  return plain.replace(/%([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

test("every kind that sends something has a receiver here", () => {
  const without = KINDS.map(({ name }) => name).filter((name) => RECEIVERS[name] === undefined);
  expect(without.toSorted()).toEqual(["email", "group", "shell"]);
});

test("an email leaves only on request, with the mark in its subject and text, and a recovery follows", async () => {
  const smtp = await startSmtp();
  const mailer = openMailSender({
    host: "127.0.0.1",
    port: smtp.port,
    security: "none",
    user: null,
    password: null,
    from: "Overdue <alerts@overdue.test>",
    connectionsMax: 1,
    timeoutMs: 30_000,
  });
  try {
    const recipient = { isVerified: true, zone: null, unsubscribeUrl: "https://overdue.test/unsub" };
    const mail: MailPort = {
      idDomain: "overdue.test",
      recipient: () => Promise.resolve(recipient),
      notifyUnverified: () => Promise.resolve(),
      send: (one) => mailer.send(one),
    };
    const config = { value: "ops@example.org", up: true, down: true };
    const place = await makePlace({ kind: "email", config, ports: sampleSender({ http, mail }) });
    const quiet = await run(place);
    expect([smtp.received, smtp.connections.total]).toEqual([[], 0]);
    expect(quiet.drill.outcome).toBe("ok");
    expect(quiet.messages).toEqual([
      expect.objectContaining({ outcome: "notSent", title: expect.stringContaining(FIRE_DRILL_MARK) }),
    ]);
    const sent = await run(place, { isSent: true, at: START + HOUR_MS });
    expect(sent.drill.outcome).toBe("ok");
    expect(sent.messages).toMatchObject([{ outcome: "sent", closing: { outcome: "sent" } }]);
    const [down, up, ...more] = smtp.received.map((one) => one.mail);
    expect(more).toEqual([]);
    for (const one of [down, up]) {
      expect(one?.subject).toContain(`${FIRE_DRILL_MARK} Nightly backup`);
      expect(one?.text).toContain(FIRE_DRILL_MARK);
      expect(one?.html).toContain(FIRE_DRILL_MARK);
    }
    expect(down?.subject).toMatch(/^DOWN /);
    expect(up?.subject).toMatch(/^UP /);
  } finally {
    await mailer.close();
    await smtp.close();
  }
});

test("a program runs only on request, and once more for the recovery", async () => {
  const folder = await mkdtemp(join(tmpdir(), "overdue-drill-"));
  const output = join(folder, "output");
  try {
    await writeFile(
      join(folder, "tell"),
      `#!/bin/sh\necho "$OVERDUE_STATUS $OVERDUE_DRILL $OVERDUE_NAME" >> ${output}\n`,
    );
    await chmod(join(folder, "tell"), 0o755);
    await writeFile(output, "");
    const ports = sampleSender({ http, providers: { ...PROVIDERS, shellFolder: folder } });
    const config = { program_down: "tell", program_up: "tell", program_notice: "" };
    const place = await makePlace({ kind: "shell", config, ports });
    const quiet = await run(place);
    expect(quiet.messages).toMatchObject([{ outcome: "notSent", reason: "Not sent (fire drill)" }]);
    expect(await readFile(output, "utf8")).toBe("");
    const sent = await run(place, { isSent: true, at: START + HOUR_MS });
    expect(sent.messages).toMatchObject([{ outcome: "sent", closing: { outcome: "sent" } }]);
    expect((await readFile(output, "utf8")).split("\n")).toEqual([
      `down 1 ${FIRE_DRILL_MARK} Nightly backup`,
      `up 1 ${FIRE_DRILL_MARK} Nightly backup`,
      "",
    ]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("each hop has its time, in order", async () => {
  const world = await makeWorld();
  const { drill, messages } = await run(world, { isSent: true });
  expect(drill).toMatchObject({
    startedAt: START,
    deadlineAt: START + 1_000,
    foundAt: START + 1_500,
    plannedAt: START + 1_500,
    closedAt: START + 1_500,
    endedAt: START + 2_000,
  });
  expect(drill.writtenAt).toBeGreaterThanOrEqual(START + 1_500);
  expect(messages[0]).toMatchObject({
    claimedAt: START + 1_500,
    renderedAt: START + 1_500,
    answeredAt: START + 1_500,
    code: 200,
  });
});

test("a drill leaves nothing behind but its result", async () => {
  const world = await makeWorld();
  await sweep(START);
  const before = await visibleRows();
  await run(world);
  await run(world, { isSent: true, at: START + 70_000 });
  expect(await visibleRows()).toEqual(before);
  expect((await listFireDrills(at.db, world.project.id)).map(({ drill }) => drill.outcome)).toEqual([
    "ok",
    "ok",
  ]);
});

test("the simulated check, its channel, and the number of incidents stay as they are", async () => {
  const world = await makeWorld();
  const rows = async () => [
    (await at.db.pool.query("select * from check_states where check_id = $1", [world.check.id])).rows,
    (await at.db.pool.query("select * from checks where id = $1", [world.check.id])).rows,
    (await at.db.pool.query("select * from channels where id = $1", [world.channel.id])).rows,
    (await at.db.pool.query("select * from projects where id = $1", [world.project.id])).rows,
    (await at.db.pool.query("select * from channel_quotas")).rows,
  ];
  const before = await rows();
  await run(world, { isSent: true });
  world.receiver.behave({ kind: "answer", answer: { status: 410 } });
  await run(world, { isSent: true, at: START + HOUR_MS });
  await run(world, { at: START + 2 * HOUR_MS });
  expect(await rows()).toEqual(before);
});

test("while it runs, lists and counts do not contain its check", async () => {
  const world = await makeWorld();
  await start(world);
  await sweep(START + 1_500);
  await planAlerts(at.db, { now: START + 1_500 });
  const projectId = world.project.id;
  const [managed] = await listManagedChannels(at.db, { projectId, afterId: 0, limit: 10 });
  expect(managed?.checkCount).toBe(1);
  const { rows } = await at.db.pool.query<{ count: number }>(
    "select count(*)::int as count from checks where project_id = $1",
    [projectId],
  );
  expect(rows[0]?.count).toBe(1);
  const { rows: incidents } = await at.db.pool.query("select from incidents where project_id = $1", [
    projectId,
  ]);
  expect(incidents).toEqual([]);
});

test("a message that is not sent uses no rate limit", async () => {
  const world = await makeWorld("slack");
  await run(world);
  const { rows } = await at.db.pool.query("select bucket_full_at from channels where id = $1", [
    world.channel.id,
  ]);
  expect(rows).toEqual([{ bucket_full_at: null }]);
  await run(world, { isSent: true, at: START + HOUR_MS });
  const { rows: after } = await at.db.pool.query("select bucket_full_at from channels where id = $1", [
    world.channel.id,
  ]);
  expect(after[0]).not.toEqual({ bucket_full_at: null });
});

test("a silence holds the drill as it would hold the alert", async () => {
  const world = await makeWorld();
  await createSilence(at.db, {
    projectId: world.project.id,
    request: { scope: { checks: [world.check.uuid], tag: null }, durationSeconds: 7_200, reason: "Upgrade" },
    once: null,
    by: BY,
    at: START,
  });
  const { drill, messages } = await run(world, { isSent: true });
  expect(drill).toMatchObject({
    outcome: "held",
    heldReason: "Held by the silence “Upgrade”",
    plannedAt: null,
  });
  expect(messages.map(({ outcome, reason }) => [outcome, reason])).toEqual([
    ["skipped", "Held by the silence “Upgrade”"],
  ]);
  expect(world.receiver.received).toEqual([]);
});

test("channels that are not notified have a reason", async () => {
  const world = await makeWorld();
  const projectId = world.project.id;
  const other = await addChannel(at.db, { projectId, config: WEBHOOK });
  const disabled = await addChannel(at.db, { projectId, config: WEBHOOK });
  const onlyUp = await addChannel(at.db, { projectId, config: { ...WEBHOOK, url_down: "" } });
  await inTransaction(at.db, (tx) =>
    disableChannel(tx, { channelId: disabled.id, at: START, reason: "HTTP 410" }),
  );
  await assign(at.db, world.check, [world.channel, disabled, onlyUp]);
  const { messages } = await run(world);
  const reasonOf = ({ id }: Channel) => messages.find(({ channel }) => channel.id === id)?.reason;
  expect(reasonOf(other)).toBe("Not assigned to this check");
  expect(reasonOf(disabled)).toBe("Disabled: HTTP 410");
  expect(reasonOf(onlyUp)).toBe("The channel is not set up for this type of message");
  const whole = await run(world, { check: null, at: START + HOUR_MS });
  expect(whole.messages.find(({ channel }) => channel.id === other.id)?.outcome).toBe("notSent");
});

test("one runs at a time, and one that sends has to wait", async () => {
  const world = await makeWorld();
  await start(world);
  await expect(start(world)).rejects.toMatchObject({ code: "conflict" });
  const other = await makeWorld();
  await start(other);
  for (const ms of [1_500, 2_000]) await round(world, START + ms);
  await run(world, { isSent: true, at: START + 3_000 });
  const soon = START + 3_000 + FIRE_DRILL_SEND_EVERY_MS - 1;
  await expect(start(world, { isSent: true, at: soon })).rejects.toMatchObject({ code: "rate_limited" });
  await run(world, { at: soon });
  await run(world, { isSent: true, at: soon + HOUR_MS });
});

test("two starts at the same time begin one drill", async () => {
  const world = await makeWorld();
  const results = await Promise.allSettled([start(world), start(world), start(world)]);
  expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected", "rejected"]);
});

test("a drill that the sweeper does not find ends, and nothing is sent later", async () => {
  const world = await makeWorld();
  const { drill } = await start(world, { isSent: true });
  const late = START + FIRE_DRILL_MS_MAX + DELIVERY_LEASE_MS;
  await driveFireDrills(at.db, late - 1);
  await driveFireDrills(at.db, late);
  await round(world, late + 1_000);
  const ended = await getFireDrill(at.db, { projectId: world.project.id, uuid: drill.uuid });
  expect(ended.drill).toMatchObject({ outcome: "timedOut", foundAt: null, checkId: null });
  expect(world.receiver.received).toEqual([]);
});

test("without a notifier, the next start ends it", async () => {
  const world = await makeWorld();
  await start(world, { isSent: true });
  await start(world, { at: START + HOUR_MS });
  const drills = await listFireDrills(at.db, world.project.id);
  expect(drills.map(({ drill }) => drill.outcome)).toEqual([null, "timedOut"]);
  await round(world, START + HOUR_MS + 1_500);
  expect(world.receiver.received).toEqual([]);
});

const SEND_AND_DIE = fileURLToPath(new URL("send-drill-and-die.ts", import.meta.url));

/** A notifier process that is killed with SIGKILL. */
async function sendAndDie({ receiver }: World, given: { kind: string; now: Instant; dies: string }) {
  const args = [SEND_AND_DIE, at.url, given.kind, receiver.url, String(given.now), given.dies];
  const child = spawn(process.execPath, args, { env: { ...COMPILE_CACHE }, stdio: "pipe" });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  expect([code, signal, said]).toEqual([null, "SIGKILL", ""]);
}

describe("a crash", () => {
  test.each(["sent", "settled"])("of a notifier that was killed when it had %s it", async (dies) => {
    const world = await makeWorld("pd");
    const { drill } = await start(world, { isSent: true });
    await sweep(START + 1_500);
    await sendAndDie(world, { kind: "pd", now: START + 1_500, dies });
    const { incidents } = world.receiver as IncidentReceiver;
    expect(incidents.size).toBe(1);
    // The next process: the claim of the one that was killed ends after a minute.
    const later = START + 2_000 + (dies === "sent" ? DELIVERY_LEASE_MS : 0);
    for (const ms of [0, 1_000, 2_000]) await round(world, later + ms);
    expect(incidents.size).toBe(0);
    const ended = await getFireDrill(at.db, { projectId: world.project.id, uuid: drill.uuid });
    expect(ended.drill).toMatchObject({ outcome: "ok", checkId: null });
    expect(ended.messages).toMatchObject([{ outcome: "sent", closing: { outcome: "sent" } }]);
  });

  test("between the deadline and the notifier loses nothing", async () => {
    const world = await makeWorld("pd");
    const { drill } = await start(world, { isSent: true });
    await sweep(START + 1_500);
    await planAlerts(at.db, { now: START + 1_600 });
    // A new process continues.
    for (const ms of [2_000, 2_500, 3_000]) await round(world, START + ms);
    const { messages } = await getFireDrill(at.db, { projectId: world.project.id, uuid: drill.uuid });
    expect(messages[0]).toMatchObject({ outcome: "sent", closing: { outcome: "sent" } });
    expect((world.receiver as IncidentReceiver).incidents.size).toBe(0);
  });

  test("between sending and its result sends it again with the same key, and closes it", async () => {
    const world = await makeWorld("pd");
    const { drill } = await start(world, { isSent: true });
    await sweep(START + 1_500);
    const died: Ports = {
      ...world.ports,
      send: async (...args) => {
        await world.ports.send(...args);
        throw new Error("killed");
      },
    };
    // What it has sent is not settled: the claim of a process that died ends after a minute.
    await deliverDue(at.db, { now: START + 1_500, ports: died }).catch(() => undefined);
    expect((world.receiver as IncidentReceiver).incidents.size).toBe(1);
    await driveFireDrills(at.db, START + 2_000);
    const later = START + DELIVERY_LEASE_MS + 5_000;
    for (const ms of [0, 1_000, 2_000]) await round(world, later + ms);
    const ended = await getFireDrill(at.db, { projectId: world.project.id, uuid: drill.uuid });
    expect(ended.drill).toMatchObject({ outcome: "ok", checkId: null });
    const keys = world.receiver.received.map(({ json }) => json["dedup_key"]);
    expect(new Set(keys).size).toBe(1);
    expect((world.receiver as IncidentReceiver).incidents.size).toBe(0);
  });

  test("of the receiver before it is closed does not leave it open: closing is retried", async () => {
    const world = await makeWorld("pd");
    const { drill } = await start(world, { isSent: true });
    await round(world, START + 1_500);
    expect((world.receiver as IncidentReceiver).incidents.size).toBe(1);
    world.receiver.behave({ kind: "answer", answer: { status: 503 } });
    await round(world, START + 2_000);
    const late = START + 2_000 + FIRE_DRILL_MS_MAX;
    await round(world, late);
    const name = { projectId: world.project.id, uuid: drill.uuid };
    const ended = await getFireDrill(at.db, name);
    // The result does not wait, but its check does.
    expect(ended.drill.outcome).toBe("failed");
    expect(ended.drill.checkId).not.toBeNull();
    expect(ended.messages[0]).toMatchObject({ outcome: "sent", closing: { outcome: "retrying" } });
    world.receiver.behave({ kind: "judge" });
    await round(world, late + HOUR_MS);
    await driveFireDrills(at.db, late + HOUR_MS);
    expect((world.receiver as IncidentReceiver).incidents.size).toBe(0);
    expect((await getFireDrill(at.db, name)).drill.checkId).toBeNull();
  });
});

test("a restored copy starts none, and does not continue one", async () => {
  const world = await makeWorld();
  const { drill } = await start(world, { isSent: true });
  await checkIdentity(at.db, { siteUrl: null });
  await at.db.pool.query("update database_identity set state = 'safe'");
  await expect(start(world)).rejects.toMatchObject({ code: "conflict" });
  await sweep(START + 1_500);
  await deliverDue(at.db, { now: START + 1_500, ports: world.ports });
  expect(world.receiver.received).toEqual([]);
  const { drill: after } = await getFireDrill(at.db, { projectId: world.project.id, uuid: drill.uuid });
  expect(after.plannedAt).toBeNull();
});

describe("a weekly drill", () => {
  // Mondays at 13:00 in UTC.
  const WEEKLY = { weekday: 0, minute: 780, tz: "UTC", check: null, isSent: false };
  const set = ({ project }: World, schedule: typeof WEEKLY | null) =>
    setDrillSchedule(at.db, { project, schedule, by: BY, at: MONDAY_NOON });

  test("starts at its time, once", async () => {
    const world = await makeWorld();
    expect(await set(world, WEEKLY)).toMatchObject({ nextAt: MONDAY_NOON + HOUR_MS });
    await driveFireDrills(at.db, MONDAY_NOON + HOUR_MS - 1);
    expect(await listFireDrills(at.db, world.project.id)).toEqual([]);
    for (const ms of [0, 1_500, 2_000, 2_500]) await round(world, MONDAY_NOON + HOUR_MS + ms);
    const [only, ...more] = await listFireDrills(at.db, world.project.id);
    expect(only?.drill).toMatchObject({ isScheduled: true, outcome: "ok" });
    expect(more).toEqual([]);
  });

  test("is left out after an outage, and without a schedule", async () => {
    const world = await makeWorld();
    await set(world, WEEKLY);
    await driveFireDrills(at.db, MONDAY_NOON + 3 * HOUR_MS);
    expect(await listFireDrills(at.db, world.project.id)).toEqual([]);
    expect(await set(world, null)).toBeNull();
  });
});
