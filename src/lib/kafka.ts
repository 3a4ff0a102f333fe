// A Kafka topic: settings, appending with acks of all in-sync replicas, and reading from given positions. Uses the
// protocol layer of the client package, not its producer and consumer: these confirm after the leader alone, send again
// under another producer id, and jump to the newest record when a position is out of range.
import { setTimeout as pause } from "node:timers/promises";
import type * as platformatic from "@platformatic/kafka";
import type { Connection, ConnectionPool, metadataV12, RecordsBatch } from "@platformatic/kafka";
import type { KafkaAddress, KafkaBroker } from "./kafka-address.ts";
import { KafkaQueue, type Leaders } from "./kafka-queue.ts";

/** Loaded when a topic is opened: a server without a log does not need it. */
type Client = typeof platformatic;

const CLIENT_ID = "overdue";
const CONNECT_TIMEOUT_MS = 2_000;
/** How long one broker may take to say who leads; then the next one is asked. */
const LOOK_UP_MS_MAX = 1_000;
/** How long a broker may take for other questions about the topic. */
const ASK_MS_MAX = 5_000;
const CREATE_MS_MAX = 10_000;
/** How long a leader may take to confirm records; then they are sent again. */
const CONFIRM_MS_MAX = 1_500;
/** Beyond the time that a request allows, a broker may take this long to answer. Then its connection is closed. */
const PRODUCE_LATE_MS_MAX = 1_000;
const FETCH_LATE_MS_MAX = 5_000;
/** Pause before failed appends are sent again. */
const RETRY_MS = 50;
/** Leaders are looked up again at most this often. */
const LOOK_UP_EVERY_MS = 50;
/** Reads that begin within this time are sent together. */
const GATHER_MS = 5;
/** How long a partition may be without a leader before its ends cannot be read. */
const LEADERLESS_MS_MAX = 10_000;
const LEADERLESS_PAUSE_MS = 100;
const ACKS_ALL = -1;
const NO_PRODUCER = -1n;
const CONSUMER_REPLICA = -1;
const LATEST = -1n;
const EARLIEST = -2n;
/** Bytes in one request. What is left is sent or read with the next one. */
const PRODUCE_BYTES_MAX = 8 * 1024 * 1024;
const FETCH_BYTES_MAX = 8 * 1024 * 1024;
const TOPIC_RESOURCE = 2;

/** How the package calls an error of SASL. */
const AUTHENTICATION_FAILED = "PLT_KFK_AUTHENTICATION";

const ERROR = {
  NO_ANSWER: -1,
  OFFSET_OUT_OF_RANGE: 1,
  UNKNOWN_TOPIC_OR_PARTITION: 3,
  LEADER_NOT_AVAILABLE: 5,
  TOPIC_ALREADY_EXISTS: 36,
  UNKNOWN_TOPIC_ID: 100,
  INCONSISTENT_TOPIC_ID: 103,
} as const;

/** Errors of a read that another topic of the same name causes, but also a broker that does not know a topic yet. */
const MAY_BE_ANOTHER_TOPIC: readonly (number | null)[] = [
  ERROR.UNKNOWN_TOPIC_OR_PARTITION,
  ERROR.LEADER_NOT_AVAILABLE,
  ERROR.UNKNOWN_TOPIC_ID,
  ERROR.INCONSISTENT_TOPIC_ID,
];

export class KafkaError extends Error {
  override readonly name = "KafkaError";
  /** The error code in an answer; null: there was no answer. */
  readonly code: number | null;

  constructor(message: string, { code = null, cause }: { code?: number | null; cause?: unknown } = {}) {
    super(message, { cause });
    this.code = code;
  }
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
  /** Positions are those of one topic: in another one of the same name, they mean nothing. */
  topicId: string;
  partition: number;
  offset: number;
  waitMs: number;
  bytesMax: number;
};

export type ReadResult =
  | { kind: "records"; records: readonly ReadRecord[]; end: number }
  /** The position is not in the log, or the topic is another one. */
  | { kind: "lost"; reason: "its offset is not in the topic" | "the topic was replaced" }
  /** Nothing is known: no leader, or no connection. */
  | { kind: "unavailable"; error: unknown };

type Append = {
  partition: number;
  value: Buffer;
  giveUpAtMs: number;
};

type WaitingAppend = Append & {
  timer: NodeJS.Timeout;
  isSettled: boolean;
  /** Of the last attempt; null: it has not ended. */
  error: unknown;
  resolve: (offset: number) => void;
  reject: (error: KafkaError) => void;
};

type WaitingRead = ReadRequest & { sinceMs: number; resolve: (result: ReadResult) => void };

type Purpose = "write" | "read" | "ask";

/** `onIdle`: a leader is no longer busy with appends. */
type TopicEvents = { onIdle?: () => void };

export class KafkaTopic {
  readonly #client: Client;
  readonly #address: KafkaAddress;
  /** Apart, because a broker answers the requests of a connection in order, and a fetch waits. */
  readonly #pools: Record<Purpose, ConnectionPool>;
  /** Those of the address, and those that a broker named. */
  #brokers: readonly KafkaBroker[];
  #asked = 0;
  #leaders: Leaders | null = null;
  #lookingUp: Promise<Leaders> | null = null;
  #lookedUpMs = Number.NEGATIVE_INFINITY;
  readonly #appends: KafkaQueue<WaitingAppend>;
  readonly #reads: KafkaQueue<WaitingRead>;
  #isClosed = false;

  private constructor(client: Client, address: KafkaAddress, { onIdle }: TopicEvents) {
    this.#client = client;
    this.#address = address;
    this.#brokers = address.brokers;
    const pool = () => openPool(client, address);
    this.#pools = { write: pool(), read: pool(), ask: pool() };
    const leaders = () => this.#whoLeads();
    this.#appends = new KafkaQueue({
      leaders,
      gatherMs: 0,
      onIdle,
      bytesMax: PRODUCE_BYTES_MAX,
      bytesOf: ({ value }) => value.length,
      send: (leader, appends) => this.#produce(leader, appends),
      fail: (appends, error) => this.#retry(appends, error ?? answeredWith(ERROR.LEADER_NOT_AVAILABLE)),
    });
    this.#reads = new KafkaQueue({
      leaders,
      gatherMs: GATHER_MS,
      bytesMax: FETCH_BYTES_MAX,
      bytesOf: () => 0,
      send: (leader, reads) => this.#fetch(leader, reads),
      fail: (reads, error) => void this.#failReads(reads, error ?? answeredWith(ERROR.LEADER_NOT_AVAILABLE)),
    });
  }

  /** Does not connect yet. */
  static async open(address: KafkaAddress, events: TopicEvents = {}): Promise<KafkaTopic> {
    return new KafkaTopic(await import("@platformatic/kafka"), address, events);
  }

  /** Null: the topic does not exist. */
  async describe(): Promise<TopicDescription | null> {
    const { topic } = this.#address;
    const [found] = (await this.#askMetadata([LOOK_UP_MS_MAX, ASK_MS_MAX])).topics;
    if (found === undefined || found.errorCode === ERROR.UNKNOWN_TOPIC_OR_PARTITION) return null;
    if (found.errorCode !== 0) throw answeredWith(found.errorCode);
    const resource = { resourceType: TOPIC_RESOURCE, resourceName: topic, configurationKeys: null } as const;
    const { describeConfigsV4 } = this.#client;
    const { results } = await this.#askAny([LOOK_UP_MS_MAX, ASK_MS_MAX], (connection) =>
      describeConfigsV4.api.async(connection, [resource], false, false),
    );
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
    return (await this.#askMetadata([LOOK_UP_MS_MAX, ASK_MS_MAX])).brokers.length;
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
      await this.#askAny([CREATE_MS_MAX], (connection) =>
        createTopicsV7.api.async(connection, [topic], CREATE_MS_MAX, false),
      );
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
   * turn of the event loop, or while a leader has not answered, are sent together.
   */
  append(given: Append): Promise<number> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#giveUp([one]), Math.max(0, leftMs(given)));
      const one: WaitingAppend = { ...given, timer, isSettled: false, error: null, resolve, reject };
      this.#add([one]);
    });
  }

  /** Whether a record of this partition would wait, because its leader has not confirmed earlier ones. */
  isBusy(partition: number): boolean {
    const leader = this.#leaders?.leaderOf.get(partition);
    return leader !== undefined && this.#appends.isBusy(leader);
  }

  /**
   * Records of one partition from a position on; waits for the first, for `waitMs` to twice as long. All reads from a
   * leader share one request.
   */
  read(request: ReadRequest): Promise<ReadResult> {
    return new Promise((resolve) => {
      const one = { ...request, sinceMs: performance.now(), resolve };
      if (this.#isClosed) resolve({ kind: "unavailable", error: CLOSED });
      else this.#reads.add([one]);
    });
  }

  /** What can be read of each of these partitions. A new topic, or one with a new leader, answers after a moment. */
  async ends(partitions: readonly number[]): Promise<ReadonlyMap<number, PartitionEnds>> {
    const byMs = performance.now() + LEADERLESS_MS_MAX;
    for (;;) {
      try {
        return await this.#askEnds(partitions);
      } catch (error) {
        this.#refresh();
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
      this.#refresh();
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
    this.#giveUp(this.#appends.clear());
    for (const { resolve } of this.#reads.clear()) resolve({ kind: "unavailable", error: CLOSED });
    for (const pool of Object.values(this.#pools)) {
      // Closing waits until everything is written, which a broker that hangs prevents.
      for (const [, connection] of pool) connection.socket?.destroy();
      await pool.close().catch(() => {});
    }
  }

  async #offsets(partitions: readonly number[], timestamp: bigint): Promise<ReadonlyMap<number, number>> {
    const { leaderOf, brokers } = await this.#whoLeads();
    const broker = brokers.get(leaderOf.get(partitions[0] ?? 0) ?? -1);
    if (broker === undefined) throw new KafkaError(`Partition ${partitions[0]} has no leader.`);
    const wanted = partitions.map((partitionIndex) => ({
      partitionIndex,
      currentLeaderEpoch: -1,
      timestamp,
    }));
    const topics = [{ name: this.#address.topic, partitions: wanted }];
    const { listOffsetsV9 } = this.#client;
    const response = await this.#ask("ask", { broker, ms: ASK_MS_MAX }, (connection) =>
      listOffsetsV9.api.async(connection, CONSUMER_REPLICA, 0, topics),
    );
    const found = response.topics[0]?.partitions ?? [];
    return new Map(found.map(({ partitionIndex, offset }) => [partitionIndex, Number(offset)]));
  }

  #add(appends: readonly WaitingAppend[]): void {
    const open = appends.filter(({ isSettled }) => !isSettled);
    if (this.#isClosed) this.#giveUp(open);
    else this.#appends.add(open);
  }

  #giveUp(appends: readonly WaitingAppend[]): void {
    for (const one of appends) {
      this.#appends.delete(one);
      settle(one);
      one.reject(failure("The record was not confirmed", this.#isClosed ? CLOSED : (one.error ?? NO_ANSWER)));
    }
  }

  /** Sends the same records again, unless they are given up before. */
  #retry(appends: readonly WaitingAppend[], error: unknown): void {
    this.#refresh();
    for (const one of appends) one.error = error;
    setTimeout(() => this.#add(appends), RETRY_MS);
  }

  async #produce(broker: KafkaBroker, appends: readonly WaitingAppend[]): Promise<void> {
    const { topic } = this.#address;
    const { produceV11 } = this.#client;
    const messages = appends.map(({ partition, value }) => ({ topic, partition, value }));
    const options = { compression: "none", producerId: NO_PRODUCER, producerEpoch: -1 } as const;
    const timeoutMs = Math.ceil(Math.min(CONFIRM_MS_MAX, Math.max(1, ...appends.map(leftMs))));
    const limit = { broker, ms: timeoutMs + PRODUCE_LATE_MS_MAX };
    const response = await this.#ask("write", limit, (connection) =>
      answered(produceV11.api.async(connection, ACKS_ALL, timeoutMs, messages, options)),
    );
    const topics = typeof response === "boolean" ? [] : response.responses;
    const answers = new Map((topics[0]?.partitionResponses ?? []).map((one) => [one.index, one]));
    const failed = appends.filter((one) => {
      const answer = answers.get(one.partition);
      if (answer?.errorCode !== 0) return true;
      settle(one);
      one.resolve(Number(answer.baseOffset));
      return false;
    });
    const [first] = failed;
    if (first === undefined) return;
    this.#retry(failed, answeredWith(answers.get(first.partition)?.errorCode ?? ERROR.NO_ANSWER));
  }

  async #fetch(broker: KafkaBroker, all: readonly WaitingRead[]): Promise<void> {
    const { topicId, epochOf } = await this.#whoLeads();
    const { reads = [], others = [] } = Object.groupBy(all, (one) =>
      one.topicId === topicId ? "reads" : "others",
    );
    if (others.length > 0) void this.#failReads(others, answeredWith(ERROR.INCONSISTENT_TOPIC_ID));
    if (reads.length === 0) return;
    const partitions = reads.map(({ partition, offset, bytesMax }) => ({
      partition,
      // With it, a broker that was replaced as the leader does not answer from its old state.
      currentLeaderEpoch: epochOf.get(partition) ?? -1,
      fetchOffset: BigInt(offset),
      lastFetchedEpoch: -1,
      partitionMaxBytes: bytesMax,
    }));
    const topics = [{ topicId, partitions }];
    const waitMs = Math.min(...reads.map((one) => one.waitMs));
    const { fetchV17 } = this.#client;
    const { responses } = await this.#ask("read", { broker, ms: waitMs + FETCH_LATE_MS_MAX }, (connection) =>
      answered(fetchV17.api.async(connection, waitMs, 1, FETCH_BYTES_MAX, 0, 0, -1, topics, [], "")),
    );
    const answers = new Map((responses[0]?.partitions ?? []).map((one) => [one.partitionIndex, one]));
    for (const read of reads) {
      const { offset, sinceMs, resolve } = read;
      const answer = answers.get(read.partition);
      const code = answer?.errorCode ?? ERROR.NO_ANSWER;
      const records = code === 0 ? recordsOf(answer?.records ?? [], offset) : [];
      if (code === ERROR.OFFSET_OUT_OF_RANGE)
        resolve({ kind: "lost", reason: "its offset is not in the topic" });
      else if (code !== 0) void this.#failReads([read], answeredWith(code));
      // Those without records stay in front of the next request, so each gets its share of the bytes.
      else if (records.length === 0 && performance.now() - sinceMs < read.waitMs) this.#reads.add([read]);
      else resolve({ kind: "records", records, end: Number(answer?.highWatermark ?? offset) });
    }
  }

  async #failReads(reads: readonly WaitingRead[], error: unknown): Promise<void> {
    let reason = error;
    let topicId: string | null = null;
    if (error instanceof KafkaError && MAY_BE_ANOTHER_TOPIC.includes(error.code)) {
      try {
        ({ topicId } = await this.#lookUp());
      } catch (lookUpError) {
        reason = lookUpError;
      }
    } else this.#refresh();
    for (const read of reads) {
      const isAnother = topicId !== null && topicId !== read.topicId;
      read.resolve(
        isAnother
          ? { kind: "lost", reason: "the topic was replaced" }
          : { kind: "unavailable", error: reason },
      );
    }
  }

  #whoLeads(): Promise<Leaders> {
    return this.#leaders === null ? this.#lookUp() : Promise.resolve(this.#leaders);
  }

  /** Looks the leaders up again; those known are used until then. */
  #refresh(): void {
    if (this.#isClosed || performance.now() - this.#lookedUpMs < LOOK_UP_EVERY_MS) return;
    this.#lookUp().catch(() => {});
  }

  #lookUp(): Promise<Leaders> {
    this.#lookingUp ??= this.#askWhoLeads().finally(() => {
      this.#lookingUp = null;
      this.#lookedUpMs = performance.now();
      this.#appends.plan();
      this.#reads.plan();
    });
    return this.#lookingUp;
  }

  async #askWhoLeads(): Promise<Leaders> {
    const { topic } = this.#address;
    const { brokers, topics } = await this.#askMetadata([LOOK_UP_MS_MAX]);
    const [found] = topics;
    if (found === undefined || found.errorCode === ERROR.UNKNOWN_TOPIC_OR_PARTITION) {
      throw new KafkaError(`The topic ${topic} does not exist. Create it with: overdue log create`);
    }
    if (found.errorCode !== 0) throw answeredWith(found.errorCode);
    const { topicId } = found;
    const before = this.#leaders?.topicId === topicId ? this.#leaders : null;
    const leaderOf = new Map(before?.leaderOf);
    const epochOf = new Map(before?.epochOf);
    for (const { partitionIndex, leaderId, leaderEpoch } of found.partitions) {
      // A broker without a connection to the others names old leaders.
      if (leaderEpoch < (epochOf.get(partitionIndex) ?? -1)) continue;
      leaderOf.set(partitionIndex, leaderId);
      epochOf.set(partitionIndex, leaderEpoch);
    }
    const named = new Map(brokers.map(({ nodeId, host, port }) => [nodeId, { host, port }]));
    this.#leaders = { topicId, brokers: named, leaderOf, epochOf };
    return this.#leaders;
  }

  async #askMetadata(msMax: readonly number[]): Promise<metadataV12.MetadataResponse> {
    const { metadataV12 } = this.#client;
    const answer = await this.#askAny(msMax, (connection) =>
      answered(metadataV12.api.async(connection, [this.#address.topic], false, false)),
    );
    const all = [...this.#address.brokers, ...answer.brokers.map(({ host, port }) => ({ host, port }))];
    this.#brokers = [...new Map(all.map((one) => [`${one.host}:${one.port}`, one])).values()];
    return answer;
  }

  /** Asks one broker after the other, in as many rounds as there are times; each question begins with the next broker. */
  async #askAny<T>(msMax: readonly number[], send: (connection: Connection) => Promise<T>): Promise<T> {
    const brokers = this.#brokers;
    let last: unknown = null;
    for (const ms of msMax.flatMap((one) => brokers.map(() => one))) {
      const broker = brokers[this.#asked % brokers.length];
      this.#asked += 1;
      if (broker === undefined) break;
      try {
        return await this.#ask("ask", { broker, ms }, send);
      } catch (error) {
        if (errorCodeOf(error) !== null) throw error;
        last = error;
      }
    }
    throw failure("No Kafka broker can be reached", last);
  }

  /** A connection without an answer in time is closed: what it has taken would stay in memory. */
  async #ask<T>(
    purpose: Purpose,
    { broker, ms }: { broker: KafkaBroker; ms: number },
    send: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    let connection: Connection | null = null;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      connection?.socket.destroy();
      reject(new KafkaError(`${broker.host}:${broker.port} did not answer within ${ms} ms`));
    }, ms);
    const asking = async () => {
      connection = await connectionTo(this.#pools[purpose], broker);
      if (isLate) throw NO_ANSWER;
      return send(connection);
    };
    try {
      return await Promise.race([asking(), late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

const CLOSED = new KafkaError("The topic was closed.");
const NO_ANSWER = new KafkaError("The leader did not answer in time.");

function openPool(client: Client, { isTls, sasl }: KafkaAddress): ConnectionPool {
  return new client.ConnectionPool(CLIENT_ID, {
    connectTimeout: CONNECT_TIMEOUT_MS,
    ...(isTls && { tls: {}, tlsServerName: true }),
    ...(sasl !== null && { sasl }),
  });
}

async function connectionTo(pool: ConnectionPool, broker: KafkaBroker): Promise<Connection> {
  const open = pool.getEstablishedConnection(broker);
  return open?.isConnected() === true ? open : pool.get(broker);
}

function leftMs({ giveUpAtMs }: Append): number {
  return giveUpAtMs - performance.now();
}

function settle(one: WaitingAppend): void {
  clearTimeout(one.timer);
  one.isSettled = true;
}

function recordsOf(batches: readonly RecordsBatch[], from: number): ReadRecord[] {
  const records: ReadRecord[] = [];
  for (const { firstOffset, records: own } of batches) {
    for (const { offsetDelta, value } of own) {
      const offset = Number(firstOffset) + offsetDelta;
      // A batch is returned from its beginning, even if the position is in its middle. Copied, because a part of the
      // answer would keep all of it in memory.
      if (offset >= from) records.push({ offset, value: Buffer.from(value ?? []) });
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

function answeredWith(code: number): KafkaError {
  return new KafkaError(`The broker answered with error ${code}.`, { code });
}

function failure(what: string, error: unknown): KafkaError {
  return new KafkaError(`${what} (${reasonOf(error)}).`);
}

/** With its causes: "Connection failed" alone hides a wrong password or certificate. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ("code" in error && error.code === AUTHENTICATION_FAILED) {
    return "Kafka rejects the user or the password in OVERDUE_LOG";
  }
  if (error instanceof AggregateError && error.errors.length > 0) {
    return [...new Set((error.errors as unknown[]).map(reasonOf))].join("; ");
  }
  const message = error.message.replace(/\.$/, "");
  if (error.cause !== undefined) return `${message}: ${reasonOf(error.cause)}`;
  return /certificate/.test(message) ? `${message}; to trust a private CA, set NODE_EXTRA_CA_CERTS` : message;
}
