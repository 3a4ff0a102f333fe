// A real Kafka cluster of one or three brokers on loopback, in a folder of its own. Brokers can be killed, stopped and
// started again.
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import {
  Admin,
  ConfigResourceTypes,
  IncrementalAlterConfigOperationTypes,
  ProduceAcks,
  Producer,
} from "@platformatic/kafka";
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

/** A listener with TLS and SASL for clients, in addition to the plain one. The certificate is for `localhost`. */
export type KafkaSecurity = {
  certificate: string;
  key: string;
  username: string;
  password: string;
};

type Node = {
  id: number;
  port: number;
  securePort: number;
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
  /** Of a second listener, with TLS and passwords. */
  security?: KafkaSecurity | null;
};

export class KafkaCluster {
  readonly #folder: string;
  readonly #nodes: readonly Node[];
  readonly #javaOptions: readonly string[];
  readonly #security: KafkaSecurity | null;

  private constructor(
    folder: string,
    nodes: readonly Node[],
    { java, security }: { java: readonly string[]; security: KafkaSecurity | null },
  ) {
    this.#folder = folder;
    this.#nodes = nodes;
    this.#javaOptions = java;
    this.#security = security;
  }

  /** Starts the brokers; resolves when all of them answer. */
  static async start({
    brokers = 1,
    parent = tmpdir(),
    java = HEAP,
    security = null,
  }: KafkaClusterOptions = {}): Promise<KafkaCluster> {
    const folder = await mkdtemp(join(parent, "overdue-kafka-"));
    const nodes: Node[] = [];
    for (let id = 1; id <= brokers; id += 1) {
      const [port, securePort, controllerPort] = [await freePort(), await freePort(), await freePort()];
      const own = join(folder, String(id));
      nodes.push({ id, port, securePort, controllerPort, folder: own, process: null });
    }
    const cluster = new KafkaCluster(folder, nodes, { java, security });
    const clusterId = randomBytes(16).toString("base64url");
    for (const node of nodes) await cluster.#format(node, clusterId);
    for (const node of nodes) cluster.#run(node);
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

  /** Where clients with TLS and SASL connect. */
  secureHosts(): string {
    return this.#nodes.map(({ securePort }) => `localhost:${securePort}`).join(",");
  }

  /** Sends a signal to a broker; after KILL, `restart` starts it again. */
  async signal(id: number, name: "SIGKILL" | "SIGSTOP" | "SIGCONT"): Promise<void> {
    const node = this.#node(id);
    const { process } = node;
    if (process === null || hasEnded(node)) return;
    const exited = name === "SIGKILL" ? once(process, "exit") : null;
    process.kill(name);
    await exited;
  }

  /** Starts brokers again; all others must run. */
  async restart(...ids: readonly number[]): Promise<void> {
    for (const id of ids) this.#run(this.#node(id));
    await this.#untilUp();
  }

  /** Restarts the brokers that a failed test has left killed. */
  async restartEnded(): Promise<void> {
    await this.restart(...this.#nodes.filter(hasEnded).map(({ id }) => id));
  }

  /** Changes settings of a topic. */
  async change(topic: string, settings: Readonly<Record<string, string>>): Promise<void> {
    const configs = Object.entries(settings).map(([name, value]) => ({
      name,
      value,
      configOperation: IncrementalAlterConfigOperationTypes.SET,
    }));
    const resource = { resourceType: ConfigResourceTypes.TOPIC, resourceName: topic, configs };
    await this.#administer((admin) => admin.incrementalAlterConfigs({ resources: [resource] }));
  }

  /** Appends a record that says that it was made at an instant. The topic must have times of its senders. */
  async append(topic: string, { partition, at }: { partition: number; at: number }): Promise<void> {
    const bootstrapBrokers = this.#nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
    const producer = new Producer({ clientId: "overdue-test", bootstrapBrokers });
    const message = { topic, partition, value: Buffer.from("x"), timestamp: BigInt(at) };
    try {
      await producer.send({ messages: [message], acks: ProduceAcks.ALL });
    } finally {
      await producer.close();
    }
  }

  async deleteTopic(topic: string): Promise<void> {
    await this.#administer((admin) => admin.deleteTopics({ topics: [topic] }));
  }

  /** Deletes the records of a partition before a position, as a retention that has run out does. */
  async deleteRecords(
    topic: string,
    { partition, before }: { partition: number; before: number },
  ): Promise<void> {
    const partitions = [{ partition, offset: BigInt(before) }];
    await this.#administer((admin) => admin.deleteRecords({ topics: [{ name: topic, partitions }] }));
  }

  async #administer<T>(work: (admin: Admin) => Promise<T>): Promise<T> {
    const bootstrapBrokers = this.#nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
    const admin = new Admin({ clientId: "overdue-test", bootstrapBrokers });
    try {
      return await work(admin);
    } finally {
      await admin.close();
    }
  }

  async stop(): Promise<void> {
    for (const node of this.#nodes) {
      const { process } = node;
      if (process === null || hasEnded(node)) continue;
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
    const plain: Record<string, string | number | boolean> = {
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
      // The default of a minute ends a broker that starts on a busy machine.
      "initial.broker.registration.timeout.ms": START_MS_MAX,
      "replica.lag.time.max.ms": 2_000,
      "log.cleaner.dedupe.buffer.size": 8_388_608,
    };
    const settings = { ...plain, ...this.#secured(node) };
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
    await writeFile(join(folder, "server.properties"), lines.join(""));
    await writeFile(join(folder, "log4j2.yaml"), LOG_SETTINGS);
    const { username, password } = this.#security ?? {};
    const scram = `SCRAM-SHA-512=[name=${username},password=${password}]`;
    const users = this.#security === null ? [] : ["--add-scram", scram];
    // One of 64 ids begins with a hyphen, and would be an option of its own.
    const args = ["format", `--cluster-id=${clusterId}`, "-c", join(folder, "server.properties"), ...users];
    const child = this.#java(node, ["kafka.tools.StorageTool", ...args]);
    const [code] = (await once(child, "exit")) as [number | null];
    if (code !== 0) throw new Error(`the folder of broker ${id} could not be formatted`);
  }

  /** The settings of the secure listener. */
  #secured({ port, securePort, controllerPort }: Node): Record<string, string> {
    if (this.#security === null) return {};
    const { certificate, key, username, password } = this.#security;
    const pem = (text: string) => text.trim().replaceAll("\n", "\\n");
    const module = (name: string, options = "") =>
      `org.apache.kafka.common.security.${name} required${options};`;
    return {
      listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort},SECURE://:${securePort}`,
      "advertised.listeners": `PLAINTEXT://127.0.0.1:${port},SECURE://localhost:${securePort}`,
      "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL",
      "ssl.keystore.type": "PEM",
      "ssl.keystore.key": pem(key),
      "ssl.keystore.certificate.chain": pem(certificate),
      "listener.name.secure.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
      "listener.name.secure.plain.sasl.jaas.config": module(
        "plain.PlainLoginModule",
        ` user_${username}="${password}"`,
      ),
      "listener.name.secure.scram-sha-512.sasl.jaas.config": module("scram.ScramLoginModule"),
    };
  }

  #run(node: Node): void {
    node.process = this.#java(node, ["kafka.Kafka", join(node.folder, "server.properties")]);
  }

  #java({ folder }: Node, args: readonly string[]): ChildProcess {
    const options = [...this.#javaOptions, `-Dlog4j2.configurationFile=${join(folder, "log4j2.yaml")}`];
    const output = openSync(join(folder, OUTPUT), "a");
    const child = spawn("java", [...options, "-cp", `${JARS}/*`, ...args], {
      stdio: ["ignore", output, output],
    });
    closeSync(output);
    endWithUs(child);
    return child;
  }

  /** Until all brokers are up. Fails at once if one ends. */
  async #untilUp(): Promise<void> {
    const byMs = performance.now() + START_MS_MAX;
    for (;;) {
      if (await this.#areUp()) return;
      if (this.#nodes.some(hasEnded) || performance.now() > byMs) {
        const outputs = await Promise.all(this.#nodes.map(describe));
        throw new Error(`Kafka did not start\n${outputs.join("\n")}`);
      }
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

function hasEnded({ process }: Node): boolean {
  return process !== null && (process.exitCode !== null || process.signalCode !== null);
}

/** How a broker ended, if it has, and the last lines of its output. */
async function describe({ id, folder, process }: Node): Promise<string> {
  const output = await readFile(join(folder, OUTPUT), "utf8").catch(() => "");
  const ended = process?.exitCode ?? process?.signalCode ?? "running";
  return [`broker ${id} (${ended}):`, ...output.trimEnd().split("\n").slice(-OUTPUT_LINES_MAX)].join("\n");
}

const OUTPUT = "output";
const OUTPUT_LINES_MAX = 20;
const LOG_SETTINGS = `Configuration:
  Appenders:
    Console:
      name: "console"
      PatternLayout:
        pattern: "%d %p %m%n%throwable{short}"
  Loggers:
    Root:
      level: "WARN"
      AppenderRef:
        ref: "console"
`;
