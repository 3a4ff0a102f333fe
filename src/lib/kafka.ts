// A Kafka topic: settings, appending with acks of all in-sync replicas, and reading from given positions. Uses the
// protocol layer of the client package, not its producer and consumer: these confirm after the leader alone, send again
// under another producer id, and jump to the newest record when a position is out of range.
import { setTimeout as pause } from "node:timers/promises";
import type * as platformatic from "@platformatic/kafka";
import type { Connection, ConnectionPool, metadataV12, produceV11, RecordsBatch } from "@platformatic/kafka";
import type { KafkaAddress, KafkaBroker } from "./kafka-address.ts";

/** Loaded when a topic is opened: a server without a log does not need it. */
type Client = typeof platformatic;

const CLIENT_ID = "overdue";
const CONNECT_TIMEOUT_MS = 2_000;
/** Requests that no sender waits for. A fetch waits for records, but not this long. */
const REQUEST_TIMEOUT_MS = 10_000;
/** Requests on a connection at the same time; the broker answers them in order. */
const IN_FLIGHT_MAX = 32;
/** Pause before a failed append is tried again. */
const RETRY_MS = 20;
/** A leader is looked up again at most this often. */
const LOOK_UP_MS_MIN = 50;
/** How long a partition may be without a leader before its ends cannot be read. */
const LEADERLESS_MS_MAX = 10_000;
const LEADERLESS_PAUSE_MS = 100;
const ACKS_ALL = -1;
const NO_PRODUCER = -1n;
const CONSUMER_REPLICA = -1;
const LATEST = -1n;
const EARLIEST = -2n;
const FETCH_BYTES_MAX = 8 * 1024 * 1024;
const TOPIC_RESOURCE = 2;

const ERROR = {
  OFFSET_OUT_OF_RANGE: 1,
  UNKNOWN_TOPIC_OR_PARTITION: 3,
  MESSAGE_TOO_LARGE: 10,
  TOPIC_ALREADY_EXISTS: 36,
} as const;

export class KafkaError extends Error {
  override readonly name = "KafkaError";
}

export type TopicDescription = {
  /** Another one than before: the topic was deleted and created again. */
  topicId: string;
  partitions: readonly { leader: number; replicas: number; inSync: number }[];
  settings: Readonly<Record<string, string>>;
};

export type NewTopic = {
  partitions: number;
  replicas: number;
  settings: Readonly<Record<string, string>>;
};

/** The first position that can be read, and that of the next record. */
export type PartitionEnds = { start: number; end: number };

export type ReadRecord = { offset: number; value: Buffer };

export type ReadRequest = {
  /** Another topic under the same name is not read. */
  topicId: string;
  partition: number;
  offset: number;
  waitMs: number;
  bytesMax: number;
};

export type ReadResult =
  | { kind: "records"; records: readonly ReadRecord[]; end: number }
  /** The position is not in the log, or the topic is another one. */
  | { kind: "lost"; reason: "out of range" | "another topic" }
  /** Nothing is known: no leader, or no connection. */
  | { kind: "unavailable"; error: unknown };

type Leaders = {
  topicId: string;
  brokers: ReadonlyMap<number, KafkaBroker>;
  leaderOf: ReadonlyMap<number, number>;
};

type Append = {
  partition: number;
  value: Buffer;
  giveUpAtMs: number;
  settle: { resolve: (offset: number) => void; reject: (error: unknown) => void };
};

export class KafkaTopic {
  readonly #client: Client;
  readonly #address: KafkaAddress;
  /** Apart, because a broker answers the requests of a connection in order, and a fetch waits. */
  readonly #pools: Record<"write" | "read" | "ask", ConnectionPool>;
  #leaders: Promise<Leaders> | null = null;
  #lookedUpMs = Number.NEGATIVE_INFINITY;
  #outbox: Append[] = [];
  #isClosed = false;

  private constructor(client: Client, address: KafkaAddress) {
    this.#client = client;
    this.#address = address;
    const pool = () => openPool(client, address);
    this.#pools = { write: pool(), read: pool(), ask: pool() };
  }

  /** Does not connect yet. */
  static async open(address: KafkaAddress): Promise<KafkaTopic> {
    return new KafkaTopic(await import("@platformatic/kafka"), address);
  }

  /** Null: the topic does not exist. */
  async describe(): Promise<TopicDescription | null> {
    const { topic } = this.#address;
    const connection = await this.#anyConnection();
    const { topics } = await this.#askMetadata(connection);
    const [found] = topics;
    if (found === undefined || found.errorCode !== 0) return null;
    const resource = { resourceType: TOPIC_RESOURCE, resourceName: topic, configurationKeys: null } as const;
    const { results } = await this.#client.describeConfigsV4.api.async(connection, [resource], false, false);
    const configs = results[0]?.configs ?? [];
    return {
      topicId: found.topicId,
      partitions: found.partitions
        .toSorted((one, other) => one.partitionIndex - other.partitionIndex)
        .map(({ leaderId, replicaNodes, isrNodes }) => ({
          leader: leaderId,
          replicas: replicaNodes.length,
          inSync: isrNodes.length,
        })),
      settings: Object.fromEntries(configs.map(({ name, value }) => [name, value ?? ""])),
    };
  }

  /** The number of brokers in the cluster. */
  async countBrokers(): Promise<number> {
    return (await this.#askMetadata(await this.#anyConnection())).brokers.length;
  }

  /** False: it existed. Otherwise it can be used when this resolves. Any broker may answer: those that are not the controller forward it. */
  async create({ partitions, replicas, settings }: NewTopic): Promise<boolean> {
    const configs = Object.entries(settings).map(([name, value]) => ({ name, value }));
    const topic = {
      name: this.#address.topic,
      numPartitions: partitions,
      replicationFactor: replicas,
      assignments: [],
      configs,
    };
    try {
      const { createTopicsV7 } = this.#client;
      await createTopicsV7.api.async(await this.#anyConnection(), [topic], REQUEST_TIMEOUT_MS, false);
    } catch (error) {
      if (errorCodeOf(error) === ERROR.TOPIC_ALREADY_EXISTS) return false;
      throw failure("The topic could not be created", error);
    }
    // Brokers learn of it after a moment.
    await this.ends(Array.from({ length: partitions }, (_, partition) => partition));
    return true;
  }

  /**
   * Resolves with the position of the record when all in-sync replicas have it. Until `giveUpAtMs`, the same record is
   * sent again if its outcome is unknown, so it can be in the log more than once. Records that are appended in the same
   * turn of the event loop are sent together.
   */
  append({ partition, value, giveUpAtMs }: Omit<Append, "settle">): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#outbox.push({ partition, value, giveUpAtMs, settle: { resolve, reject } });
      if (this.#outbox.length === 1) queueMicrotask(() => void this.#send());
    });
  }

  /** Records of one partition from a position on; waits up to `waitMs` for the first. */
  async read(given: ReadRequest): Promise<ReadResult> {
    const { topicId, partition, offset, waitMs, bytesMax } = given;
    try {
      if (await this.#isAnotherThan(topicId)) return { kind: "lost", reason: "another topic" };
      const connection = await this.#leaderOf(partition, "read");
      const { fetchV17 } = this.#client;
      const wanted = {
        partition,
        currentLeaderEpoch: -1,
        fetchOffset: BigInt(offset),
        lastFetchedEpoch: -1,
        partitionMaxBytes: bytesMax,
      };
      const { responses } = await fetchV17.api.async(
        connection,
        waitMs,
        1,
        FETCH_BYTES_MAX,
        0,
        0,
        -1,
        [{ topicId, partitions: [wanted] }],
        [],
        "",
      );
      const answer = responses[0]?.partitions[0];
      if (answer === undefined) return { kind: "records", records: [], end: offset };
      return {
        kind: "records",
        records: recordsOf(answer.records ?? [], offset),
        end: Number(answer.highWatermark),
      };
    } catch (error) {
      this.#forgetLeaders();
      const code = errorCodeOf(error);
      if (code === ERROR.OFFSET_OUT_OF_RANGE) return { kind: "lost", reason: "out of range" };
      return { kind: "unavailable", error };
    }
  }

  /** A topic that was deleted and created again has another id. A broker that does not know the id yet is no proof. */
  async #isAnotherThan(topicId: string): Promise<boolean> {
    if ((await this.#whoLeads()).topicId === topicId) return false;
    this.#leaders = null;
    return (await this.#whoLeads()).topicId !== topicId;
  }

  /** The id of the topic that is read and written. */
  async topicId(): Promise<string> {
    return (await this.#whoLeads()).topicId;
  }

  /** What can be read of each of these partitions. A new topic, or one with a new leader, answers after a moment. */
  async ends(partitions: readonly number[]): Promise<ReadonlyMap<number, PartitionEnds>> {
    const byMs = performance.now() + LEADERLESS_MS_MAX;
    for (;;) {
      try {
        return await this.#askEnds(partitions);
      } catch (error) {
        this.#leaders = null;
        if (this.#isClosed || performance.now() > byMs)
          throw failure("The end of the log cannot be read", error);
        await pause(LEADERLESS_PAUSE_MS);
      }
    }
  }

  /** Of each of these partitions, the first position with a record from this time on, or its end if there is none. */
  async firstSince(partitions: readonly number[], at: number): Promise<ReadonlyMap<number, number>> {
    const { leaderOf } = await this.#whoLeads();
    const found = new Map<number, number>();
    for (const own of Map.groupBy(partitions, (one) => leaderOf.get(one) ?? -1).values()) {
      // First the ends: what is appended in between is newer.
      const ends = await this.#offsets(own, LATEST);
      const since = await this.#offsets(own, BigInt(Math.floor(at)));
      for (const partition of own) {
        const end = ends.get(partition) ?? 0;
        const first = since.get(partition) ?? -1;
        found.set(partition, first === -1 ? end : Math.min(first, end));
      }
    }
    return found;
  }

  /** The position of the next record of a partition. Does not try again. */
  async end(partition: number): Promise<number> {
    try {
      const end = (await this.#offsets([partition], LATEST)).get(partition);
      if (end === undefined) throw new KafkaError(`Partition ${partition} was not answered`);
      return end;
    } catch (error) {
      this.#forgetLeaders();
      throw failure("The end of the log cannot be read", error);
    }
  }

  async #askEnds(partitions: readonly number[]): Promise<ReadonlyMap<number, PartitionEnds>> {
    const { leaderOf } = await this.#whoLeads();
    const byLeader = Map.groupBy(partitions, (partition) => leaderOf.get(partition) ?? -1);
    const found = new Map<number, PartitionEnds>();
    for (const own of byLeader.values()) {
      const [starts, ends] = await Promise.all([this.#offsets(own, EARLIEST), this.#offsets(own, LATEST)]);
      for (const partition of own) {
        found.set(partition, { start: starts.get(partition) ?? 0, end: ends.get(partition) ?? 0 });
      }
    }
    return found;
  }

  /** Running requests fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(Object.values(this.#pools).map((pool) => pool.close().catch(() => {})));
  }

  async #offsets(partitions: readonly number[], timestamp: bigint): Promise<ReadonlyMap<number, number>> {
    const connection = await this.#leaderOf(partitions[0] ?? 0, "ask");
    const wanted = partitions.map((partitionIndex) => ({
      partitionIndex,
      currentLeaderEpoch: -1,
      timestamp,
    }));
    const topics = [{ name: this.#address.topic, partitions: wanted }];
    const response = await this.#client.listOffsetsV9.api.async(connection, CONSUMER_REPLICA, 0, topics);
    const found = response.topics[0]?.partitions ?? [];
    return new Map(found.map(({ partitionIndex, offset }) => [partitionIndex, Number(offset)]));
  }

  /** Sends everything in the outbox: one request per leader. */
  async #send(): Promise<void> {
    const appends = this.#outbox.splice(0);
    let leaders: Leaders;
    try {
      leaders = await this.#whoLeads();
    } catch (error) {
      for (const one of appends) this.#retry(one, error);
      return;
    }
    const byLeader = Map.groupBy(appends, ({ partition }) => leaders.leaderOf.get(partition) ?? -1);
    for (const own of byLeader.values()) void this.#produce(own);
  }

  async #produce(appends: readonly Append[]): Promise<void> {
    const [first] = appends;
    if (first === undefined) return;
    try {
      const connection = await this.#leaderOf(first.partition, "write");
      const { topic } = this.#address;
      const messages = appends.map(({ partition, value }) => ({ topic, partition, value }));
      const timeoutMs = Math.max(1, Math.ceil(Math.min(...appends.map(leftMs))));
      const options = { compression: "none", producerId: NO_PRODUCER, producerEpoch: -1 } as const;
      const producing = this.#client.produceV11.api.async(connection, ACKS_ALL, timeoutMs, messages, options);
      const response = await withTimeout(answered(producing), timeoutMs);
      if (typeof response !== "boolean") this.#settle(appends, response);
    } catch (error) {
      this.#forgetLeaders();
      for (const one of appends) this.#retry(one, error);
    }
  }

  #settle(appends: readonly Append[], { responses }: produceV11.ProduceResponse): void {
    const answers = new Map((responses[0]?.partitionResponses ?? []).map((one) => [one.index, one]));
    for (const one of appends) {
      const answer = answers.get(one.partition);
      if (answer?.errorCode === 0) {
        one.settle.resolve(Number(answer.baseOffset));
        continue;
      }
      this.#forgetLeaders();
      this.#retry(one, new KafkaError(`The broker answered with error ${answer?.errorCode ?? "none"}`));
    }
  }

  #retry(one: Append, error: unknown): void {
    if (this.#isClosed || leftMs(one) <= RETRY_MS) {
      one.settle.reject(failure("The record was not confirmed", error));
      return;
    }
    setTimeout(() => {
      this.#outbox.push(one);
      if (this.#outbox.length === 1) void this.#send();
    }, RETRY_MS);
  }

  async #leaderOf(partition: number, what: "write" | "read" | "ask"): Promise<Connection> {
    const { leaderOf, brokers } = await this.#whoLeads();
    const broker = brokers.get(leaderOf.get(partition) ?? -1);
    if (broker === undefined) {
      this.#forgetLeaders();
      throw new KafkaError(`Partition ${partition} of ${this.#address.topic} has no leader.`);
    }
    return connectionTo(this.#pools[what], broker);
  }

  #forgetLeaders(): void {
    if (performance.now() - this.#lookedUpMs > LOOK_UP_MS_MIN) this.#leaders = null;
  }

  #whoLeads(): Promise<Leaders> {
    if (this.#leaders === null) {
      this.#lookedUpMs = performance.now();
      const asking = this.#askWhoLeads();
      this.#leaders = asking;
      asking.catch(() => {
        if (this.#leaders === asking) this.#leaders = null;
      });
    }
    return this.#leaders;
  }

  async #askWhoLeads(): Promise<Leaders> {
    const { topic } = this.#address;
    const connection = await this.#anyConnection();
    const { brokers, topics } = await this.#askMetadata(connection);
    const [found] = topics;
    if (found === undefined || found.errorCode === ERROR.UNKNOWN_TOPIC_OR_PARTITION) {
      throw new KafkaError(`The topic ${topic} does not exist. Create it with: overdue log create`);
    }
    return {
      topicId: found.topicId,
      brokers: new Map(brokers.map(({ nodeId, host, port }) => [nodeId, { host, port }])),
      leaderOf: new Map(found.partitions.map(({ partitionIndex, leaderId }) => [partitionIndex, leaderId])),
    };
  }

  #askMetadata(connection: Connection): Promise<metadataV12.MetadataResponse> {
    return answered(this.#client.metadataV12.api.async(connection, [this.#address.topic], false, false));
  }

  async #anyConnection(): Promise<Connection> {
    let last: unknown = null;
    for (const broker of this.#address.brokers) {
      try {
        return await connectionTo(this.#pools.ask, broker);
      } catch (error) {
        last = error;
      }
    }
    throw failure("No Kafka broker can be reached", last);
  }
}

function openPool(client: Client, { isTls, sasl }: KafkaAddress): ConnectionPool {
  return new client.ConnectionPool(CLIENT_ID, {
    connectTimeout: CONNECT_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    maxInflights: IN_FLIGHT_MAX,
    ...(isTls && { tls: {}, tlsServerName: true }),
    ...(sasl !== null && { sasl }),
  });
}

async function connectionTo(pool: ConnectionPool, broker: KafkaBroker): Promise<Connection> {
  return pool.getEstablishedConnection(broker)?.isConnected() === true
    ? (pool.getEstablishedConnection(broker) as Connection)
    : pool.get(broker);
}

function leftMs({ giveUpAtMs }: Append): number {
  return giveUpAtMs - performance.now();
}

async function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T> {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new KafkaError("The broker did not answer in time.")), ms);
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function recordsOf(batches: readonly RecordsBatch[], from: number): ReadRecord[] {
  const records: ReadRecord[] = [];
  for (const { firstOffset, records: own } of batches) {
    for (const { offsetDelta, value } of own) {
      const offset = Number(firstOffset) + offsetDelta;
      // A batch is returned from its beginning, even if the position is in its middle.
      if (offset >= from) records.push({ offset, value: value ?? Buffer.alloc(0) });
    }
  }
  return records;
}

/** The package throws an answer that contains an error code, although it is about one of several partitions. */
async function answered<T>(asking: Promise<T>): Promise<T> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof AggregateError && "response" in error && error.response !== undefined) {
      return error.response as T;
    }
    throw error;
  }
}

/** The first error code of the protocol in an error. */
function errorCodeOf(error: unknown): number | null {
  if (!(error instanceof AggregateError)) return null;
  for (const one of error.errors as unknown[]) {
    if (one instanceof Error && "apiCode" in one && typeof one.apiCode === "number") return one.apiCode;
  }
  return null;
}

function failure(what: string, error: unknown): KafkaError {
  return new KafkaError(`${what} (${reasonOf(error)}).`, { cause: error });
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return (error.errors as unknown[]).map(reasonOf).join("; ");
  return error instanceof Error ? error.message.replace(/\.$/, "") : String(error);
}
