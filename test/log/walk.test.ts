// The way of an operator from one process to a log, back, and to the log again, with real processes, and jobs that ping
// the whole time: every acknowledged ping is recorded, none twice, and the watermark never passes one that is not.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { createLog } from "../../src/lib/log.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { recorderRole } from "../../src/roles/recorder.ts";
import { listLogPartitions } from "../../src/store/log-partitions.ts";
import { callOverdue } from "../cli/run-overdue.ts";
import { isKafkaInstalled, KafkaCluster, WHY_SKIPPED } from "../support/kafka-cluster.ts";
import { useOwnPostgres } from "../support/own-postgres.ts";
import { type PingProcess, startPingProcess } from "../support/ping-process.ts";
import { freePort } from "../support/ports.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";
import { pingUntilAccepted, type Stage, stage } from "./stage.ts";

const TEST_MS_MAX = 600_000;
const SOON_MS = 120_000;
const CHECKS = 6;
const PING_EVERY_MS = 30;
const ANSWER_MS_MAX = 10_000;
const LOOK_EVERY_MS = 100;
/** How far the clock of a process may be off the database's. */
const CLOCK_MS_MAX = 250;

/** A ping that was sent: when it was acknowledged, and how often it was sent until then. */
type Sent = { ackedAt: number; attempts: number };

describe.skipIf(!isKafkaInstalled)(`from one process to a log and back${WHY_SKIPPED}`, () => {
  const own = useOwnPostgres();
  let cluster: KafkaCluster;
  beforeAll(async () => {
    cluster = await KafkaCluster.start();
  }, TEST_MS_MAX);
  afterAll(() => cluster.stop());
  const running = new Set<PingProcess>();
  afterEach(async () => {
    for (const one of running) await one.stop();
  });

  test("no acknowledged ping is lost, recorded twice, or missing behind the watermark", {
    timeout: TEST_MS_MAX,
  }, async () => {
    const topic = cluster.url("overdue-walk");
    const [portA, portB] = [await freePort(), await freePort()];
    const start = async (port: number, { roles = "ping", log = false } = {}) => {
      const settings = {
        OVERDUE_SIGNALS_PER_MINUTE: "0",
        OVERDUE_PING_LOG_LIMIT: "10000",
        ...(log && { OVERDUE_LOG: topic }),
      };
      const one = await startPingProcess({ databaseUrl: own.server.url(), port, roles, settings });
      running.add(one);
      return one;
    };
    const stop = async (one: PingProcess) => {
      running.delete(one);
      await one.stop();
    };
    const overdue = (...args: string[]) =>
      callOverdue(["log", ...args], { OVERDUE_DATABASE_URL: own.server.url(), OVERDUE_LOG: topic });
    const status = async () =>
      JSON.parse((await overdue("status", "--json")).out) as {
        partitions: { lag: number }[];
        recorders: object[];
      };

    let a = await start(portA);
    const jobs = await startJobs([portA, portB]);
    const look = watchWatermark(jobs.sent);
    onTestFinished(async () => {
      await jobs.abandon();
      await look.end();
    });

    // To the log.
    expect((await overdue("create", "--partitions", "4")).code).toBe(0);
    const recorder = await start(await freePort(), { roles: "recorder", log: true });
    let b = await start(portB, { log: true });
    await stop(a);
    await jobs.more(50);
    await expect.poll(async () => (await status()).recorders.length, { timeout: SOON_MS }).toBe(1);
    expect((await overdue("leave")).err).toMatch(/still append pings|records left/);

    // Back.
    a = await start(portA);
    await stop(b);
    await jobs.more(50);
    await expect.poll(async () => (await overdue("leave")).code, { timeout: SOON_MS }).toBe(0);
    expect((await status()).partitions).toEqual([]);

    // To the same topic again: what was applied before stays applied.
    b = await start(portB, { log: true });
    await stop(a);
    await jobs.more(50);
    await jobs.end();
    await stop(b);
    await expect
      .poll(async () => (await status()).partitions.reduce((sum, { lag }) => sum + lag, 0), {
        timeout: SOON_MS,
      })
      .toBe(0);
    expect(await look.end()).toEqual({ passed: [] });
    await stop(recorder);

    const counts = await recorded();
    const acked = [...jobs.sent].filter(([, { ackedAt }]) => ackedAt > 0);
    expect(acked.length).toBeGreaterThan(150);
    expect(acked.filter(([word]) => !counts.has(word))).toEqual([]);
    // A ping that got no answer may have been recorded, too.
    expect(acked.filter(([word, { attempts }]) => attempts === 1 && counts.get(word) !== 1)).toEqual([]);
  });

  describe("a recorder", () => {
    let it: Stage;
    beforeEach(async () => {
      await own.db.pool.query("truncate intakes, blind_intervals, log_partitions cascade");
      it = await stage(cluster, { url: own.server.url(), partitions: 1 });
    });
    afterEach(() => it.stop());
    function expectSoon(question: () => unknown) {
      return expect.poll(question, { timeout: SOON_MS, interval: 50 });
    }

    test("stops before a record of a newer version, skips nothing, and says what to do", async () => {
      const { id: projectId } = await sampleProject(own.db);
      const check = await sampleCheck(own.db, { projectId });
      const [edge, recorder] = await Promise.all([it.startEdge(), it.startRecorder()]);
      await pingUntilAccepted(edge, check.uuid, "before");
      const value = Buffer.from([2, ...Buffer.alloc(200)]);
      const at = await it.kafka.append({ partition: 0, value, giveUpAtMs: performance.now() + SOON_MS });
      await pingUntilAccepted(edge, check.uuid, "after");
      await expectSoon(() => recorder.problem()).toMatch(/newer version .* upgrade this process/);
      await expectSoon(async () => (await listLogPartitions(own.db))[0]?.nextOffset).toBe(at);
      const { rows } = await own.db.pool.query("select count(*)::int as count from rejected_signals");
      expect(rows).toEqual([{ count: 0 }]);
      expect(it.lines.join("")).toContain("Upgrade this process.");
    });

    test("without its topic is not ready, and says what to do", async () => {
      const lines: string[] = [];
      const recorder = recorderRole({
        config: loadConfig({ OVERDUE_LOG: cluster.url("missing") }).config,
        databaseOptions: { url: own.server.url(), applicationName: "overdue", onError: () => {} },
        log: createLog({ level: "info", destination: { write: (line) => lines.push(line) } }),
        metrics: createMetrics({ version: "test" }),
      });
      await recorder.start();
      try {
        await expectSoon(() => recorder.problem()).toContain("create it with: overdue log create");
        expect(lines.join("")).toContain("the log cannot be read");
      } finally {
        await recorder.stop();
      }
    });
  });

  /** Jobs that ping until they are acknowledged, at one process and then at the other. */
  async function startJobs(ports: readonly number[]) {
    const { id: projectId } = await sampleProject(own.db);
    const checks: { uuid: string }[] = [];
    for (let n = 0; n < CHECKS; n += 1) checks.push(await sampleCheck(own.db, { projectId }));
    const sent = new Map<string, Sent>();
    const open = new Set<Promise<void>>();
    const ending = new AbortController();
    const abandoned = new AbortController();
    let ackedCount = 0;
    const pingOnce = async (word: string, { uuid, at }: { uuid: string; at: number }) => {
      const url = `http://127.0.0.1:${ports[at % ports.length]}/ping/${uuid}`;
      try {
        const signal = AbortSignal.timeout(ANSWER_MS_MAX);
        const response = await fetch(url, { headers: { "user-agent": word }, signal });
        await response.text();
        return response.status === 200;
      } catch {
        return false;
      }
    };
    const job = async (number: number) => {
      const word = `walk-${number}`;
      const one: Sent = { ackedAt: 0, attempts: 0 };
      sent.set(word, one);
      const uuid = checks[number % CHECKS]?.uuid ?? "";
      while (one.ackedAt === 0 && !abandoned.signal.aborted) {
        one.attempts += 1;
        if (await pingOnce(word, { uuid, at: number + one.attempts })) one.ackedAt = Date.now();
        else await sleep(PING_EVERY_MS);
      }
      ackedCount += 1;
    };
    const sending = (async () => {
      for (let number = 0; !ending.signal.aborted; number += 1) {
        const doing = job(number);
        open.add(doing);
        void doing.finally(() => open.delete(doing));
        await sleep(PING_EVERY_MS);
      }
    })();
    const end = async () => {
      ending.abort();
      await sending;
      await Promise.all(open);
    };
    return {
      sent,
      /** Resolves when this many more are acknowledged. */
      more: async (count: number) => {
        const wanted = ackedCount + count;
        await expect.poll(() => ackedCount, { timeout: SOON_MS }).toBeGreaterThanOrEqual(wanted);
      },
      end,
      /** Ends without waiting for acknowledgments. */
      abandon: () => {
        abandoned.abort();
        return end();
      },
    };
  }

  /** Looks for pings that are acknowledged, older than the watermark, and not recorded: they would raise false alerts. */
  function watchWatermark(sent: ReadonlyMap<string, Sent>) {
    const passed: string[] = [];
    const ending = new AbortController();
    const looking = (async () => {
      while (!ending.signal.aborted) {
        const acked = [...sent]
          .filter(([, { ackedAt }]) => ackedAt > 0)
          .map(([word, { ackedAt }]) => ({ word, ackedAt }));
        const { rows } = await own.db.pool.query<{ at: Date | number | null; words: string[] }>(
          `select (select min(watermark_at) from intakes where closed_at is null) as at,
            array(select ua from pings) as words`,
        );
        const watermarkAt = Number(rows[0]?.at ?? 0);
        const words = new Set(rows[0]?.words);
        for (const { word, ackedAt } of acked) {
          if (ackedAt < watermarkAt - CLOCK_MS_MAX && !words.has(word)) passed.push(word);
        }
        await sleep(LOOK_EVERY_MS);
      }
    })();
    return {
      end: async () => {
        ending.abort();
        await looking;
        return { passed };
      },
    };
  }

  async function recorded(): Promise<Map<string, number>> {
    const { rows } = await own.db.pool.query<{ ua: string; count: number }>(
      "select ua, count(*)::int as count from pings group by ua",
    );
    return new Map(rows.map(({ ua, count }) => [ua, count]));
  }
});
