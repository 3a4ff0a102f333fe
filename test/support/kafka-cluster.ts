// A real Kafka cluster of one or three brokers on loopback, in a folder of its own. Brokers can be killed, stopped and
// started again.
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { KafkaTopic } from "../../src/lib/kafka.ts";
import type { KafkaAddress } from "../../src/lib/kafka-address.ts";
import { endWithUs } from "./end-with-us.ts";
import { freePort } from "./ports.ts";

/** Where .ci/install puts it. */
const JARS = "/opt/overdue-test/kafka";
const START_MS_MAX = 180_000;
const POLL_MS = 100;
/** Enough for the topics of a test, on a machine that runs several of them. */
const HEAP = ["-Xms64m", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];

export const isKafkaInstalled = existsSync(JARS);
export const WHY_SKIPPED = isKafkaInstalled ? "" : " (Kafka is not installed; see .ci/install)";

type Node = {
  id: number;
  port: number;
  controllerPort: number;
  folder: string;
  process: ChildProcess | null;
};

export type KafkaClusterOptions = {
  brokers?: 1 | 3;
  /** The folder in which it makes its own. */
  parent?: string;
  /** Options of Java about memory and compilation. */
  java?: readonly string[];
};

export class KafkaCluster {
  readonly #folder: string;
  readonly #nodes: readonly Node[];
  readonly #javaOptions: readonly string[];

  private constructor(folder: string, nodes: readonly Node[], javaOptions: readonly string[]) {
    this.#folder = folder;
    this.#nodes = nodes;
    this.#javaOptions = javaOptions;
  }

  /** Starts the brokers; resolves when all of them answer. */
  static async start({
    brokers = 1,
    parent = tmpdir(),
    java = HEAP,
  }: KafkaClusterOptions = {}): Promise<KafkaCluster> {
    const folder = await mkdtemp(join(parent, "overdue-kafka-"));
    const nodes: Node[] = [];
    for (let id = 1; id <= brokers; id += 1) {
      const [port, controllerPort] = [await freePort(), await freePort()];
      nodes.push({ id, port, controllerPort, folder: join(folder, String(id)), process: null });
    }
    const cluster = new KafkaCluster(folder, nodes, java);
    const clusterId = randomBytes(16).toString("base64url");
    for (const node of nodes) await cluster.#format(node, clusterId);
    await Promise.all(nodes.map((node) => cluster.#run(node)));
    await cluster.#untilUp();
    return cluster;
  }

  get brokerIds(): readonly number[] {
    return this.#nodes.map(({ id }) => id);
  }

  /** The processes of the brokers. */
  get pids(): readonly number[] {
    return this.#nodes.flatMap(({ process }) => process?.pid ?? []);
  }

  /** The address of a topic; of a new name by default. */
  address(topic = `overdue-${randomUUID()}`): KafkaAddress {
    const brokers = this.#nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
    return { brokers, topic, isTls: false, sasl: null };
  }

  /** The same as text, for OVERDUE_LOG. */
  url(topic: string): string {
    return `kafka://${this.#nodes.map(({ port }) => `127.0.0.1:${port}`).join(",")}/${topic}`;
  }

  /** Sends a signal to a broker; after KILL, `restart` starts it again. */
  async signal(id: number, name: "SIGKILL" | "SIGSTOP" | "SIGCONT"): Promise<void> {
    const { process } = this.#node(id);
    if (process === null) return;
    const exited = name === "SIGKILL" && process.exitCode === null ? once(process, "exit") : null;
    process.kill(name);
    await exited;
  }

  async restart(id: number): Promise<void> {
    await this.#run(this.#node(id));
    await this.#untilUp();
  }

  async stop(): Promise<void> {
    for (const { process } of this.#nodes) {
      if (process === null || process.exitCode !== null || process.signalCode !== null) continue;
      const exited = once(process, "exit");
      process.kill("SIGKILL");
      await exited;
    }
    await rm(this.#folder, { recursive: true, force: true });
  }

  #node(id: number): Node {
    const node = this.#nodes.find((one) => one.id === id);
    if (node === undefined) throw new Error(`there is no broker ${id}`);
    return node;
  }

  async #format(node: Node, clusterId: string): Promise<void> {
    const { id, port, controllerPort, folder } = node;
    await mkdir(join(folder, "data"), { recursive: true });
    const voters = this.#nodes.map((one) => `${one.id}@127.0.0.1:${one.controllerPort}`).join(",");
    const replicas = Math.min(3, this.#nodes.length);
    const settings = {
      "process.roles": "broker,controller",
      "node.id": id,
      "controller.quorum.voters": voters,
      listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
      "advertised.listeners": `PLAINTEXT://127.0.0.1:${port}`,
      "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
      "inter.broker.listener.name": "PLAINTEXT",
      "controller.listener.names": "CONTROLLER",
      "log.dirs": join(folder, "data"),
      "num.network.threads": 2,
      "num.io.threads": 2,
      "offsets.topic.replication.factor": replicas,
      "offsets.topic.num.partitions": 1,
      "auto.create.topics.enable": false,
      "broker.session.timeout.ms": 3_000,
      "broker.heartbeat.interval.ms": 500,
      "controller.quorum.election.timeout.ms": 500,
      "controller.quorum.fetch.timeout.ms": 1_000,
      "replica.lag.time.max.ms": 2_000,
      "log.cleaner.dedupe.buffer.size": 8_388_608,
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
    await writeFile(join(folder, "server.properties"), lines.join(""));
    await writeFile(join(folder, "log4j2.yaml"), LOG_SETTINGS);
    const args = ["format", "-t", clusterId, "-c", join(folder, "server.properties")];
    const child = this.#java(node, ["kafka.tools.StorageTool", ...args]);
    const [code] = (await once(child, "exit")) as [number | null];
    if (code !== 0) throw new Error(`the folder of broker ${id} could not be formatted`);
  }

  async #run(node: Node): Promise<void> {
    node.process = this.#java(node, ["kafka.Kafka", join(node.folder, "server.properties")]);
  }

  #java({ folder }: Node, args: readonly string[]): ChildProcess {
    const options = [...this.#javaOptions, `-Dlog4j2.configurationFile=${join(folder, "log4j2.yaml")}`];
    const child = spawn("java", [...options, "-cp", `${JARS}/*`, ...args], { stdio: "ignore" });
    endWithUs(child);
    return child;
  }

  async #untilUp(): Promise<void> {
    const byMs = performance.now() + START_MS_MAX;
    for (;;) {
      if (await this.#areUp()) return;
      if (performance.now() > byMs) throw new Error("Kafka did not start");
      await pause(POLL_MS);
    }
  }

  /** Each broker answers, and knows as many others as there are. */
  async #areUp(): Promise<boolean> {
    for (const { port } of this.#nodes) {
      const address = { ...this.address(), brokers: [{ host: "127.0.0.1", port }] };
      const topic = await KafkaTopic.open(address);
      try {
        if ((await topic.countBrokers()) < this.#nodes.length) return false;
      } catch {
        return false;
      } finally {
        await topic.close();
      }
    }
    return true;
  }
}

const LOG_SETTINGS = `Configuration:
  Loggers:
    Root:
      level: "OFF"
`;
