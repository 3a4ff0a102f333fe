// What a topic says about signals: how often each must be recorded. A record that is in the topic twice counts once, and
// a request that a router has repeated is in it as two records.
import { decodeRecord } from "../../../src/intake/log-record.ts";
import type { KafkaTopic } from "../../../src/lib/kafka.ts";
import { markerIn } from "../signals/outgoing.ts";

const READ_BYTES_MAX = 4 * 1024 * 1024;
const READ_WAIT_MS = 200;

export type TopicContent = {
  /** By marker. */
  times: Map<string, number>;
  /** Records that are in the topic more than once. */
  repeatedRecords: number;
};

/** Reads the topic, up to the given positions or to its end. */
export async function readContent(
  topic: KafkaTopic,
  upTo?: ReadonlyMap<number, number>,
): Promise<TopicContent> {
  const found = await topic.describe();
  const partitions = [...(found?.partitions.keys() ?? [])];
  const ends = await topic.ends(partitions);
  const content: TopicContent = { times: new Map(), repeatedRecords: 0 };
  for (const partition of partitions) {
    const { start, end } = ends.get(partition) ?? { start: 0, end: 0 };
    await readPartition(
      topic,
      { partition, start, end: Math.min(end, upTo?.get(partition) ?? end) },
      content,
    );
  }
  return content;
}

async function readPartition(
  topic: KafkaTopic,
  { partition, start, end }: { partition: number; start: number; end: number },
  content: TopicContent,
): Promise<void> {
  const newest = new Map<string, number>();
  const topicId = await topic.topicId();
  const how = { waitMs: READ_WAIT_MS, bytesMax: READ_BYTES_MAX };
  for (let offset = start; offset < end; ) {
    const result = await topic.read({ topicId, partition, offset, ...how });
    if (result.kind === "lost") throw new Error(`partition ${partition} has no record ${offset}`);
    for (const { offset: own, value } of result.kind === "records" ? result.records : []) {
      offset = own + 1;
      if (own >= end) return;
      const decoded = decodeRecord(value);
      if (!decoded.ok)
        throw new Error(`record ${own} of partition ${partition} is unreadable: ${decoded.reason}`);
      const { edge, n, signals } = decoded.record;
      if (n <= (newest.get(edge) ?? 0)) {
        content.repeatedRecords += 1;
        continue;
      }
      newest.set(edge, n);
      for (const { ua } of signals) {
        const marker = markerIn(ua);
        if (marker !== null) content.times.set(marker, (content.times.get(marker) ?? 0) + 1);
      }
    }
  }
}
