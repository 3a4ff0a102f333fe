// The environment of the scenarios with a log: a Kafka cluster of three brokers, a topic, receiving processes behind a
// router, recorders, a process that sends alerts, and a load. The database is behind a link, so that it can be replaced.
import { topicSettings } from "../../../src/core/log.ts";
import { KafkaTopic } from "../../../src/lib/kafka.ts";
import { isKafkaInstalled, KafkaCluster } from "../../support/kafka-cluster.ts";
import { AlertReceiver } from "../alerts/alert-receiver.ts";
import { makeBoth } from "../alerts/alert-processes.ts";
import type { Run } from "../scenario.ts";
import type { Load } from "../signals/load.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import type { DatabaseProxy } from "../stage/proxy.ts";
import { onStage, type Stage, type StageOptions } from "../stage/stage.ts";
import { demand } from "../waiting.ts";
import { isRouterInstalled, Router } from "./router.ts";
import { readContent } from "./topic-content.ts";

export const LOG_NEEDS = "Kafka or HAProxy is not installed; see .ci/install";
export const canRunLog = isKafkaInstalled && isRouterInstalled;

const WAIT_MS_MAX = 180_000;

export type LogStageOptions = {
  brokers: 1 | 3;
  partitions: number;
  edges: number;
  recorders: number;
  checks: number;
  /** Whether alerts are sent. */
  hasAlerts: boolean;
  /** The name of the topic. */
  topic: string;
  /** A shared cluster and database server; without them, separate ones. */
  cluster?: KafkaCluster;
  shared?: StageOptions["shared"];
};

type Parts = {
  stage: Stage;
  cluster: KafkaCluster;
  kafka: KafkaTopic;
  options: LogStageOptions;
  proxy: DatabaseProxy;
  receiver: AlertReceiver;
  edges: readonly PingProcess[];
  recorders: readonly PingProcess[];
  alerts: PingProcess;
  router: Router;
};

export class LogStage {
  readonly stage: Stage;
  readonly cluster: KafkaCluster;
  readonly proxy: DatabaseProxy;
  readonly receiver: AlertReceiver;
  readonly edges: readonly PingProcess[];
  readonly recorders: readonly PingProcess[];
  readonly alerts: PingProcess;
  readonly router: Router;
  readonly #options: LogStageOptions;
  #kafka: KafkaTopic;
  /** What deleted topics had. */
  #timesBefore: ReadonlyMap<string, number> = new Map();
  /** Acknowledged signals that were deleted with a topic. */
  readonly destroyed = new Set<string>();

  constructor(parts: Parts) {
    this.stage = parts.stage;
    this.cluster = parts.cluster;
    this.proxy = parts.proxy;
    this.receiver = parts.receiver;
    this.edges = parts.edges;
    this.recorders = parts.recorders;
    this.alerts = parts.alerts;
    this.router = parts.router;
    this.#options = parts.options;
    this.#kafka = parts.kafka;
  }

  get run(): Run {
    return this.stage.run;
  }

  get kafka(): KafkaTopic {
    return this.#kafka;
  }

  get topicName(): string {
    return this.#options.topic;
  }

  /** A load through the router. */
  startLoad(perSecond: number): Load {
    const { targets } = this.stage;
    return this.stage.ledger.startLoad({ targets, ports: [this.router.port], perSecond });
  }

  startAll(): Promise<unknown> {
    const alerts = this.#options.hasAlerts ? [this.alerts] : [];
    const inner = [...this.recorders, ...alerts].filter((one) => !one.isRunning);
    const edges = this.edges.filter((one) => !one.isRunning);
    return Promise.all([...edges.map((one) => one.start()), ...inner.map((one) => one.startInner())]);
  }

  /** Resolves when every broker has every record. */
  async untilInSync(): Promise<void> {
    await demand(
      async () => {
        const found = await this.#kafka.describe();
        return found?.partitions.every(({ inSync, replicas }) => inSync === replicas) === true;
      },
      { withinMs: WAIT_MS_MAX, what: "all replicas are in sync" },
    );
  }

  /** How often each signal must be recorded. */
  async timesInLog(): Promise<ReadonlyMap<string, number>> {
    const { times } = await readContent(this.#kafka);
    for (const [marker, count] of this.#timesBefore) times.set(marker, (times.get(marker) ?? 0) + count);
    return times;
  }

  /**
   * Deletes the topic with everything that was not applied, and creates one of the same name. No recorder may run, and
   * nothing may be sent.
   */
  async recreateTopic(): Promise<void> {
    const { rows } = await this.stage.withClient((client) =>
      client.query<{ partition: number; next_offset: string }>(
        "select partition, next_offset from log_partitions",
      ),
    );
    const applied = new Map(rows.map((row) => [row.partition, Number(row.next_offset)]));
    const whole = await readContent(this.#kafka);
    const { times } = await readContent(this.#kafka, applied);
    for (const marker of whole.times.keys()) if (!times.has(marker)) this.destroyed.add(marker);
    this.#timesBefore = times;
    await this.cluster.deleteTopic(this.topicName);
    await this.#kafka.close();
    this.#kafka = await createTopic(this.cluster, this.#options);
  }
}

async function createTopic(
  cluster: KafkaCluster,
  { topic, brokers, partitions }: LogStageOptions,
): Promise<KafkaTopic> {
  const kafka = await KafkaTopic.open(cluster.address(topic));
  const settings = topicSettings({ brokers });
  await demand(() => kafka.create({ partitions, replicas: brokers, settings }), {
    withinMs: WAIT_MS_MAX,
    what: "the topic is created",
  });
  return kafka;
}

/** Everything runs when the work begins. */
export async function onLogStage<T>(
  run: Run,
  options: LogStageOptions,
  work: (log: LogStage) => Promise<T>,
): Promise<T> {
  const cluster = options.cluster ?? (await KafkaCluster.start({ brokers: options.brokers }));
  const receiver = await AlertReceiver.start();
  let kafka: KafkaTopic | null = null;
  try {
    kafka = await createTopic(cluster, options);
    const { checks, shared } = options;
    return await onStage(run, { checks, ...(shared && { shared }), mayBeBusy: true }, async (stage) => {
      const log = new LogStage(
        await gather(stage, { options, cluster, receiver, kafka: kafka as KafkaTopic }),
      );
      try {
        await log.startAll();
        return await work(log);
      } finally {
        kafka = log.kafka;
        await log.router.stop();
      }
    });
  } finally {
    await kafka?.close();
    await receiver.stop();
    if (options.cluster === undefined) await cluster.stop();
  }
}

async function gather(
  stage: Stage,
  given: { options: LogStageOptions; cluster: KafkaCluster; receiver: AlertReceiver; kafka: KafkaTopic },
): Promise<Parts> {
  const { options, cluster } = given;
  const proxy = await stage.proxy();
  const common = {
    databaseUrl: proxy.urlFor(stage.url),
    spool: null,
    environment: { OVERDUE_LOG: cluster.url(options.topic), OVERDUE_LOG_ROUTER_REPEATS: "true" },
  };
  const edges: PingProcess[] = [];
  for (let index = 1; index <= options.edges; index += 1) {
    edges.push(await stage.receiver({ ...common, name: `edge${index}` }));
  }
  const recorders: PingProcess[] = [];
  for (let index = 1; index <= options.recorders; index += 1) {
    const environment = { ...common.environment, OVERDUE_ROLES: "recorder" };
    recorders.push(await stage.receiver({ ...common, name: `recorder${index}`, environment }));
  }
  const { databaseUrl, environment } = common;
  const alerts = await makeBoth(stage, { name: "alerts", databaseUrl, environment });
  const ports = edges.map(({ port }) => port);
  const router = await Router.start({ ports, folder: stage.folder, guardian: stage.guardian });
  return { ...given, stage, proxy, edges, recorders, alerts, router };
}
