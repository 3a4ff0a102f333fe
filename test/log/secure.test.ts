// TLS with a private certificate authority and SASL, against a real broker, as an admin uses them.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { runOverdue } from "../cli/run-overdue.ts";
import { makeCertificates } from "../support/certificates.ts";
import { isKafkaInstalled, KafkaCluster, WHY_SKIPPED } from "../support/kafka-cluster.ts";
import { useOwnPostgres } from "../support/own-postgres.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const USERNAME = "overdue";
const PASSWORD = "s3cret-of-kafka";

describe.skipIf(!isKafkaInstalled)(`a broker with TLS and SASL${WHY_SKIPPED}`, () => {
  const own = useOwnPostgres();
  let cluster: KafkaCluster;
  let folder: string;
  let authority: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "overdue-kafka-tls-"));
    const made = makeCertificates(folder, { name: "kafka", host: "localhost" });
    authority = made.authority;
    const [certificate, key] = [readFileSync(made.certificate, "utf8"), readFileSync(made.key, "utf8")];
    cluster = await KafkaCluster.start({
      security: { certificate, key, username: USERNAME, password: PASSWORD },
    });
  });
  afterAll(async () => {
    await cluster?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const log = (args: readonly string[], given: { password?: string; sasl: string; trusts?: boolean }) => {
    const { password = PASSWORD, sasl, trusts = true } = given;
    return runOverdue(["log", ...args], {
      OVERDUE_DATABASE_URL: own.server.url(),
      OVERDUE_LOG: `kafkas://${USERNAME}:${password}@${cluster.secureHosts()}/overdue-${sasl}?sasl=${sasl}`,
      ...(trusts && { NODE_EXTRA_CA_CERTS: authority }),
    });
  };

  test.each(["plain", "scram-sha-512"])("%s: the topic is created and read", async (sasl) => {
    const created = await log(["create", "--partitions", "2"], { sasl });
    expect([created.code, created.err]).toEqual([0, ""]);
    expect(created.out).toContain("Created the topic: 2 partitions, 1 replica.");
    const status = await log(["status", "--json"], { sasl });
    expect([status.code, status.err]).toEqual([0, ""]);
    expect(JSON.parse(status.out)).toMatchObject({ problems: [], partitions: [] });
  });

  test.each(["plain", "scram-sha-512"])("%s: a wrong password is named, and not shown", async (sasl) => {
    const { code, out, err } = await log(["status"], { sasl, password: "wrong-word" });
    expect(code).toBe(1);
    expect(err).toContain("Kafka rejects the user or the password in OVERDUE_LOG");
    expect(out + err).not.toContain("wrong-word");
  });

  test("a certificate that is not trusted is named, with what to set", async () => {
    const { code, err } = await log(["status"], { sasl: "plain", trusts: false });
    expect(code).toBe(1);
    expect(err).toContain("certificate");
    expect(err).toContain("NODE_EXTRA_CA_CERTS");
  });
});
