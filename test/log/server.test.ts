// A whole server with a log: pings over HTTP and by email are acknowledged by Kafka, and a client that reads a check
// sees the pings that it has sent.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { topicSettings } from "../../src/core/log.ts";
import { KafkaTopic } from "../../src/lib/kafka.ts";
import { makePlayer, type Player, startServer } from "../management/cast.ts";
import { mailClient } from "../smtp/client.ts";
import { useDatabase } from "../support/database.ts";
import { isKafkaInstalled, KafkaCluster, WHY_SKIPPED } from "../support/kafka-cluster.ts";
import { freePort } from "../support/ports.ts";

const SOON_MS = 120_000;
vi.setConfig({ testTimeout: 2 * SOON_MS, hookTimeout: 2 * SOON_MS });
const DOMAIN = "ping.example.org";

describe.skipIf(!isKafkaInstalled)(`a server with a log${WHY_SKIPPED}`, () => {
  const database = useDatabase();
  let cluster: KafkaCluster;
  let server: Awaited<ReturnType<typeof startServer>>;
  let owner: Player;
  let mailPort: number;

  beforeAll(async () => {
    cluster = await KafkaCluster.start();
    const topic = "overdue";
    const kafka = await KafkaTopic.open(cluster.address(topic));
    await kafka.create({ partitions: 2, replicas: 1, settings: topicSettings({ brokers: 1 }) });
    await kafka.close();
    mailPort = await freePort();
    server = await startServer(database.url, {
      roles: ["ping", "smtp", "api", "recorder"],
      settings: {
        OVERDUE_LOG: cluster.url(topic),
        OVERDUE_SPOOL_FOLDER: "off",
        OVERDUE_SIGNALS_PER_MINUTE: "0",
        OVERDUE_PING_MAIL_LISTEN: `127.0.0.1:${mailPort}`,
        OVERDUE_PING_MAIL_DOMAIN: DOMAIN,
      },
    });
    owner = await makePlayer(database.db, { name: "owner", secretKey: server.secretKey });
  });
  afterAll(async () => {
    await server?.running.stop();
    await cluster?.stop();
  });

  const ask = async (path: string, { method = "GET", body }: { method?: string; body?: object } = {}) => {
    const response = await fetch(server.site + path, {
      method,
      headers: { "X-Api-Key": owner.rw },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: (await response.json().catch(() => null)) as never };
  };
  const send = async (path: string) =>
    (await fetch(`${server.site}/ping/${path}`, { method: "POST" })).status;
  /** As a job does: it tries again if it is told to. */
  const sendUntilAccepted = async (path: string, status = 200) => {
    await expect.poll(() => send(path), { timeout: SOON_MS, interval: 50 }).toBe(status);
  };
  const newCheck = async (name: string) => {
    const { json } = await ask("/api/v3/checks/", { method: "POST", body: { name, timeout: 3_600 } });
    return (json as { ping_url: string }).ping_url.split("/").at(-1) ?? "";
  };

  test("whoever pings and then reads the check sees the ping", async () => {
    const uuid = await newCheck("read");
    for (let count = 1; count <= 10; count += 1) {
      await sendUntilAccepted(uuid);
      const { json: check } = await ask(`/api/v3/checks/${uuid}`);
      const { json: page } = await ask(`/api/overdue/v1/checks/${uuid}`);
      const { json: list } = await ask(`/api/v3/checks/${uuid}/pings/`);
      expect((check as { n_pings: number }).n_pings).toBeGreaterThanOrEqual(count);
      expect((list as { pings: unknown[] }).pings.length).toBeGreaterThanOrEqual(count);
      expect(JSON.stringify(page)).toContain(uuid);
    }
  });

  test("a ping by slug creates the check", async () => {
    await sendUntilAccepted(`${owner.pingKey}/made-by-ping?create=1`, 201);
    await sendUntilAccepted(`${owner.pingKey}/made-by-ping?create=1`, 200);
    const { json } = await ask("/api/v3/checks/?slug=made-by-ping");
    const uuid = (json as { checks: { ping_url: string }[] }).checks[0]?.ping_url.split("/").at(-1) ?? "";
    const { json: check } = await ask(`/api/v3/checks/${uuid}`);
    expect((check as { n_pings: number }).n_pings).toBeGreaterThanOrEqual(2);
  });

  test("an email is accepted when the log has it, and not while Kafka is away", async () => {
    const uuid = await newCheck("mail");
    const message = Buffer.from("Subject: done\r\n\r\nfine\r\n");
    const deliver = async () => {
      const client = await mailClient({ port: mailPort });
      try {
        return await client.send(message, { to: [`${uuid}@${DOMAIN}`] });
      } finally {
        client.close();
      }
    };
    await expect.poll(deliver, { timeout: SOON_MS, interval: 50 }).toBe("250 OK");
    const { json } = await ask(`/api/v3/checks/${uuid}`);
    expect((json as { n_pings: number }).n_pings).toBeGreaterThanOrEqual(1);
    const [broker = 0] = cluster.brokerIds;
    await cluster.signal(broker, "SIGKILL");
    expect(await deliver()).toMatch(/^4\d\d /);
    expect(await send(uuid)).toBe(503);
    // Reading does not wait for it.
    expect((await ask(`/api/v3/checks/${uuid}`)).status).toBe(200);
    await cluster.restart(broker);
    await expect.poll(deliver, { timeout: SOON_MS, interval: 50 }).toBe("250 OK");
    await sendUntilAccepted(uuid);
  });

  test("metrics say what was appended and applied, and how far recorders are behind", async () => {
    const admin = server.running.adminAddress;
    const metrics = async () => {
      const response = await fetch(`http://127.0.0.1:${admin?.port}/metrics`);
      return new Map(
        (await response.text())
          .split("\n")
          .filter((line) => /^overdue_(log|recorder|intake)_/.test(line))
          .map((line) => line.split(" ") as [string, string]),
      );
    };
    const found = await metrics();
    expect(Number(found.get("overdue_log_appended_total"))).toBeGreaterThan(0);
    expect(Number(found.get("overdue_log_unconfirmed_total"))).toBeGreaterThan(0);
    expect(Number(found.get("overdue_intake_refused_total"))).toBeGreaterThan(0);
    expect(Number(found.get("overdue_recorder_signals_total"))).toBeGreaterThan(0);
    expect(Number(found.get("overdue_recorder_partitions"))).toBe(2);
    const lag = async () => Number((await metrics()).get("overdue_recorder_lag_seconds"));
    await expect.poll(lag, { timeout: SOON_MS, interval: 100 }).toBeLessThan(60);
  });
});
