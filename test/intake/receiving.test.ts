// The whole intake on a real, durable PostgreSQL and a real spool, with the faults it is built for: cut connections,
// crashes, a stopped server, lost commits. Every acknowledged signal must be in the log, once.
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { open as openFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { openSpool } from "../../src/intake/spool.ts";
import { createLog } from "../../src/lib/log.ts";
import { type DirectIntake, startDirectIntake } from "../../src/roles/direct-intake.ts";
import { findCheckByUuid } from "../../src/store/checks.ts";
import { listOpenIntakes } from "../../src/store/intakes.ts";
import { migrate } from "../../src/store/migrate.ts";
import { listPings } from "../../src/store/pings.ts";
import { awakeMs } from "../support/awake.ts";
import { useOwnPostgres } from "../support/own-postgres.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";
import { signal } from "./scripted-ports.ts";
import { temporaryFolder } from "./support/folders.ts";

const own = useOwnPostgres();

const running = new Set<DirectIntake>();
afterEach(async () => {
  unsteadyMs = 0;
  for (const receiving of running) await stop(receiving);
  await own.db.pool.query("truncate intakes, blind_intervals cascade");
});

async function start(settings: Record<string, string> = {}, url = own.server.url()) {
  const { config } = loadConfig({
    OVERDUE_SIGNALS_PER_MINUTE: "0",
    OVERDUE_PING_LOG_LIMIT: "10000",
    ...settings,
  });
  const lines: string[] = [];
  const log = createLog({ level: "info", destination: { write: (line) => lines.push(line) } });
  const databaseOptions = { url, applicationName: "overdue", onError: () => {} };
  const receiving = { ...(await startDirectIntake({ config, databaseOptions, log })), lines };
  running.add(receiving);
  await receiving.heartbeat.start();
  return receiving;
}

async function stop(receiving: DirectIntake): Promise<void> {
  running.delete(receiving);
  receiving.heartbeat.stopAccepting();
  await receiving.stop();
}

async function newChecks(count: number): Promise<string[]> {
  const { id: projectId } = await sampleProject(own.db);
  const checks = await Promise.all(Array.from({ length: count }, () => sampleCheck(own.db, { projectId })));
  return checks.map(({ uuid }) => uuid);
}

type Sent = { uuid: string; word: string; kind: string; answeredMs: number };

/** Sends signals at a steady rate until stopped; each contains its own word. */
function load({ intake }: Pick<DirectIntake, "intake">, uuids: readonly string[], { perSecond = 500 } = {}) {
  const answers: Promise<Sent>[] = [];
  const send = async (uuid: string): Promise<Sent> => {
    const word = randomUUID();
    const begun = awakeMs();
    const accepted = signal(word, {
      target: { by: "uuid", uuid },
      at: intake.now(),
      body: Buffer.from(word),
    });
    const { kind } = await intake.accept(accepted, { create: false, network: null });
    return { uuid, word, kind, answeredMs: awakeMs() - begun };
  };
  const timer = setInterval(() => {
    for (let count = 0; count < perSecond / 100; count += 1) {
      answers.push(send(uuids[answers.length % uuids.length] ?? ""));
    }
  }, 10);
  const unsteady = watchUnsteadiness();
  return {
    end: async (): Promise<Sent[]> => {
      clearInterval(timer);
      const sent = await Promise.all(answers);
      unsteadyMs = Math.max(unsteadyMs, await unsteady.end());
      return sent;
    },
  };
}

/**
 * While the database is down, a signal must be on disk within a few tenths of a second. A machine that takes longer
 * than this for a single block has to reject signals, so the test would prove nothing.
 */
const UNSTEADY_MS = 100;
let unsteadyMs = 0;

/** Writes one block after the other to disk during the test; returns the duration of the slowest. */
function watchUnsteadiness() {
  const ending = new AbortController();
  const watching = (async () => {
    await using file = await openFile(join(temporaryFolder(), "block"), "w");
    let slowestMs = 0;
    while (!ending.signal.aborted) {
      const begun = performance.now();
      await file.write(Buffer.alloc(4_096), 0, 4_096, 0);
      await file.sync();
      slowestMs = Math.max(slowestMs, performance.now() - begun);
      await sleep(20);
    }
    return slowestMs;
  })();
  return {
    end: () => {
      ending.abort();
      return watching;
    },
  };
}

/** Every acknowledged signal is in the log exactly once, and the numbers of each check have no gap. */
async function compare(sent: readonly Sent[]) {
  const words = new Map<string, number>();
  for (const uuid of new Set(sent.map((one) => one.uuid))) {
    const check = await findCheckByUuid(own.db, uuid);
    if (check === null) throw new Error("the check is gone");
    const pings = await listPings(own.db, { checkId: check.id, afterN: 0, limit: 100_000 });
    expect(pings.map(({ n }) => n).toReversed()).toEqual(pings.map((_, index) => index + 1));
    expect(check.state.pingCount).toBe(pings.length);
    for (const { ua } of pings) words.set(ua, (words.get(ua) ?? 0) + 1);
  }
  const promised = sent.filter(({ kind }) => kind === "recorded");
  const refused = sent.length - promised.length;
  const isSteady = unsteadyMs < UNSTEADY_MS;
  if (!isSteady && refused > 0) {
    console.log(`${refused} were refused while a block took ${Math.round(unsteadyMs)} ms to get on disk`);
  }
  return {
    promised: promised.length,
    refused,
    refusedInVain: isSteady ? refused : 0,
    lost: promised.filter(({ word }) => !words.has(word)).length,
    duplicated: [...words.values()].filter((count) => count > 1).length,
    slowestMs: Math.max(...sent.map(({ answeredMs }) => answeredMs)),
  };
}

async function isDirect({ intake }: Pick<DirectIntake, "intake">): Promise<void> {
  await expect.poll(() => intake.state().isSpooling, { timeout: 40_000 }).toBe(false);
}

async function warmUp(receiving: DirectIntake, uuids: readonly string[]): Promise<void> {
  for (const uuid of uuids) {
    const { kind } = await receiving.intake.accept(
      signal(randomUUID(), { target: { by: "uuid", uuid }, at: receiving.intake.now() }),
      { create: false, network: null },
    );
    expect(kind).toBe("recorded");
  }
}

/** Every process of the server, because stopping only the first leaves the others running. */
function serverProcesses(): number[] {
  const children = execFileSync("ps", ["-o", "pid=", "--ppid", String(own.server.pid())], {
    encoding: "utf8",
  });
  return [own.server.pid(), ...children.trim().split(/\s+/).map(Number)];
}

test("a server with another database leaves the pings in the folder to the one that they are for", async () => {
  const folder = temporaryFolder();
  const [uuid = ""] = await newChecks(1);
  const first = await start({ OVERDUE_SPOOL_FOLDER: folder });
  await stop(first);
  // Acknowledged by the first server, which ended before its database had it.
  const intakeId = randomUUID();
  const spool = await openSpool({ folder, intakeId, bytesMax: 10_000_000, freeDiskBytesMin: 0 });
  const signals = [signal("promised", { target: { by: "uuid", uuid }, at: Date.now() })];
  await spool.append({ intakeId, lane: 0, seq: 1, signals });
  await spool.close();
  await own.db.pool.query("create database another_server");
  const url = own.server.url("another_server");
  await migrate({ url, applicationName: "test", onError: () => {} });
  await expect(start({ OVERDUE_SPOOL_FOLDER: folder }, url)).rejects.toThrow(
    /contains pings of another Overdue server/,
  );
  const again = await start({ OVERDUE_SPOOL_FOLDER: folder });
  await expect
    .poll(async () => (await findCheckByUuid(own.db, uuid))?.state.pingCount, { timeout: 30_000 })
    .toBe(1);
  await stop(again);
});

describe("under load", () => {
  test("connections that are cut again and again lose nothing and repeat nothing", async () => {
    const receiving = await start({ OVERDUE_SPOOL_FOLDER: temporaryFolder() });
    const uuids = await newChecks(20);
    await warmUp(receiving, uuids);
    const sending = load(receiving, uuids);
    for (let cut = 0; cut < 30; cut += 1) {
      await sleep(60 + cut);
      await own.db.pool.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'overdue-intake'",
      );
    }
    const sent = await sending.end();
    await isDirect(receiving);
    const result = await compare(sent);
    expect(result).toMatchObject({ refusedInVain: 0, lost: 0, duplicated: 0 });
    expect(result.promised).toBeGreaterThan(50);
    expect(result.slowestMs).toBeLessThan(2_000);
  }, 120_000);

  test("a database that crashes and comes back loses nothing, and known checks are never refused", async () => {
    const receiving = await start({ OVERDUE_SPOOL_FOLDER: temporaryFolder() });
    const uuids = await newChecks(20);
    await warmUp(receiving, uuids);
    const sending = load(receiving, uuids);
    for (const awayMs of [100, 2_500]) {
      await sleep(300);
      await own.server.crash();
      await sleep(awayMs);
      await own.server.resume();
      await isDirect(receiving);
    }
    const sent = await sending.end();
    await isDirect(receiving);
    const result = await compare(sent);
    expect(result).toMatchObject({ refusedInVain: 0, lost: 0, duplicated: 0 });
    expect(result.slowestMs).toBeLessThan(2_000);
    const { rows } = await own.db.pool.query("select * from blind_intervals");
    if (result.refused === 0) expect(rows).toEqual([]);
  }, 120_000);

  test("a stopped database delays no response for longer than two seconds", async () => {
    const receiving = await start({ OVERDUE_SPOOL_FOLDER: temporaryFolder() });
    const uuids = await newChecks(10);
    await warmUp(receiving, uuids);
    const sending = load(receiving, uuids, { perSecond: 200 });
    await sleep(200);
    const stopped = serverProcesses();
    for (const id of stopped) process.kill(id, "SIGSTOP");
    await sleep(4_000);
    for (const id of stopped.toReversed()) process.kill(id, "SIGCONT");
    await sleep(500);
    const sent = await sending.end();
    await isDirect(receiving);
    const result = await compare(sent);
    expect(result).toMatchObject({ refusedInVain: 0, lost: 0, duplicated: 0 });
    expect(result.slowestMs).toBeLessThan(2_000);
  }, 120_000);

  test("without a spool, pings are rejected while the database is down, and that time is blind", async () => {
    const receiving = await start();
    const uuids = await newChecks(5);
    const sending = load(receiving, uuids, { perSecond: 200 });
    await sleep(300);
    const crashedAt = receiving.intake.now();
    await own.server.crash();
    await sleep(1_500);
    await own.server.resume();
    await isDirect(receiving);
    const resumedAt = receiving.intake.now();
    await sleep(200);
    const sent = await sending.end();
    const result = await compare(sent);
    expect(result).toMatchObject({ lost: 0, duplicated: 0 });
    expect(result.refused).toBeGreaterThan(0);
    expect(result.slowestMs).toBeLessThan(2_000);
    const blind = () => own.db.pool.query("select from_at, to_at, reason from blind_intervals");
    await expect.poll(async () => (await blind()).rowCount, { timeout: 30_000 }).toBe(1);
    const [row] = (await blind()).rows;
    expect(row.reason).toBe("pings were rejected");
    expect(row.from_at).toBeGreaterThan(crashedAt - 1_000);
    expect(row.to_at).toBeLessThan(resumedAt + 1_000);
  }, 120_000);
});

describe("commits that the database has lost", () => {
  test("are given again by an intake that remembers them", async () => {
    const receiving = await start({ OVERDUE_SPOOL_FOLDER: temporaryFolder() });
    const uuids = await newChecks(5);
    await warmUp(receiving, uuids);
    // A copy of the files while the server is down is what a delayed standby would have.
    await own.server.crash();
    const copy = `${own.server.dataDirectory}-copy`;
    execFileSync("cp", ["-a", own.server.dataDirectory, copy]);
    await own.server.resume();
    await isDirect(receiving);
    const sending = load(receiving, uuids, { perSecond: 200 });
    await sleep(1_500);
    const before = await sending.end();
    await isDirect(receiving);
    await own.server.crash();
    rmSync(own.server.dataDirectory, { recursive: true });
    renameSync(copy, own.server.dataDirectory);
    await own.server.resume();
    await expect
      .poll(() => receiving.lines.some((line) => line.includes("lost confirmed pings")), {
        timeout: 30_000,
      })
      .toBe(true);
    await isDirect(receiving);
    expect(await compare(before)).toMatchObject({ refusedInVain: 0, lost: 0, duplicated: 0 });
    const after = load(receiving, uuids, { perSecond: 100 });
    await sleep(200);
    expect(await compare([...before, ...(await after.end())])).toMatchObject({ lost: 0, duplicated: 0 });
  }, 120_000);
});

describe("a start", () => {
  test("gives the database what the last one had to leave, and lets go of it", async () => {
    const folder = temporaryFolder();
    const first = await start({ OVERDUE_SPOOL_FOLDER: folder, OVERDUE_STOP_TIMEOUT: "2" });
    const uuids = await newChecks(3);
    await warmUp(first, uuids);
    const firstId = first.heartbeat.state().intakeId;
    await own.server.crash();
    const sending = load(first, uuids, { perSecond: 100 });
    await sleep(500);
    const sent = await sending.end();
    await stop(first);
    await own.server.resume();
    const open = async () => (await listOpenIntakes(own.db)).map(({ id }) => id);
    expect(await open()).toEqual([firstId]);
    const second = await start({ OVERDUE_SPOOL_FOLDER: folder });
    await isDirect(second);
    expect(await compare(sent)).toMatchObject({ refusedInVain: 0, lost: 0, duplicated: 0 });
    expect(await open()).toEqual([second.heartbeat.state().intakeId]);
    await stop(second);
    expect(await open()).toEqual([]);
  }, 120_000);

  test("after a time without any intake, records that time as blind before anything can fire", async () => {
    const first = await start();
    await stop(first);
    await own.db.pool.query("update intakes set beat_at = beat_at - interval '1 hour'");
    const second = await start();
    const { rows } = await own.db.pool.query("select from_at, to_at, reason from blind_intervals");
    expect(rows).toMatchObject([{ reason: "the receiving process did not accept pings" }]);
    expect(rows[0].to_at - rows[0].from_at).toBeGreaterThan(3_600_000);
    expect(second.heartbeat.visibility().watermarkAt).toBeNull();
    expect(second.heartbeat.visibility().blind).toHaveLength(1);
  });
});

test("an intake whose spool was removed does not leave an old id open that others would wait for", async () => {
  const folder = temporaryFolder();
  const uuids = await newChecks(1);
  const receiving = await start({ OVERDUE_SPOOL_FOLDER: folder });
  const openIds = async () => (await listOpenIntakes(own.db)).map(({ id }) => id);
  const [oldId] = await openIds();
  const sending = load(receiving, uuids, { perSecond: 100 });
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
  await expect.poll(() => receiving.heartbeat.state().intakeId, { timeout: 60_000 }).not.toBe(oldId);
  await expect.poll(openIds, { timeout: 60_000 }).toEqual([receiving.heartbeat.state().intakeId]);
  expect(await compare(await sending.end())).toMatchObject({ lost: 0, duplicated: 0 });
  expect(receiving.lines.filter((line) => line.includes("intake lost"))).toEqual([]);
}, 150_000);

test("a start that fails leaves no intake behind that others would wait for", async () => {
  const file = join(temporaryFolder(), "a-file");
  writeFileSync(file, "");
  await expect(start({ OVERDUE_SPOOL_FOLDER: file })).rejects.toThrow(/a-file/);
  expect(await listOpenIntakes(own.db)).toEqual([]);
});

describe("two intakes", () => {
  test("record for the same checks at the same time, and each sees the other", async () => {
    const folder = temporaryFolder();
    const both = [
      await start({ OVERDUE_SPOOL_FOLDER: folder }),
      await start({ OVERDUE_SPOOL_FOLDER: folder }),
    ];
    const uuids = await newChecks(10);
    const sending = both.map((one) => load(one, uuids));
    await sleep(1_500);
    const sent = (await Promise.all(sending.map((one) => one.end()))).flat();
    expect(await compare(sent)).toMatchObject({ refusedInVain: 0, lost: 0, duplicated: 0 });
  }, 60_000);

  test("one that was declared lost registers again and continues", async () => {
    const receiving = await start({ OVERDUE_SPOOL_FOLDER: temporaryFolder() });
    const [uuid = ""] = await newChecks(1);
    await warmUp(receiving, [uuid]);
    const was = receiving.heartbeat.state().intakeId;
    await own.db.pool.query("update intakes set closed_at = now(), lost = true");
    await expect.poll(() => receiving.intake.state().confirmed.intakeId, { timeout: 20_000 }).not.toBe(was);
    await warmUp(receiving, [uuid]);
    const { rows } = await own.db.pool.query(`select max(last_seq) as last_seq from intake_lanes
      where intake_id in (select id from intakes where closed_at is null)`);
    expect(rows).toEqual([{ last_seq: 1 }]);
  }, 60_000);

  test("one that is missing from an older database registers again as well", async () => {
    const receiving = await start({ OVERDUE_SPOOL_FOLDER: temporaryFolder() });
    const uuids = await newChecks(2);
    await warmUp(receiving, uuids);
    await own.db.pool.query("delete from intakes");
    const sending = load(receiving, uuids, { perSecond: 100 });
    await sleep(1_500);
    const sent = await sending.end();
    await isDirect(receiving);
    expect(await compare(sent)).toMatchObject({ refusedInVain: 0, lost: 0 });
    expect(await listOpenIntakes(own.db)).toHaveLength(1);
  }, 60_000);
});
