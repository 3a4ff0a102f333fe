// `overdue log`: creates the topic of OVERDUE_LOG, shows positions, continues after a loss, and leaves the log.
import type { Command } from "commander";
import { loadConfig } from "../config/config.ts";
import { SECOND_MS } from "../core/instant.ts";
import {
  isBehind,
  LOG_PARTITIONS,
  LOG_REPLICAS,
  LOG_RETENTION_REPORTED,
  retentionMsOf,
  topicProblems,
  topicSettings,
} from "../core/log.ts";
import { HOLD_REPORTED_AFTER_MS } from "../core/watermark.ts";
import { KafkaTopic, type TopicDescription } from "../lib/kafka.ts";
import { acceptLoss, leaveLog, RECORDER_LOST_AFTER_MS } from "../operations/log.ts";
import type { Database } from "../store/db.ts";
import { readDatabaseClock } from "../store/instance.ts";
import { listLogPartitions, listRecorders, type StoredPartition } from "../store/log-partitions.ts";
import { onDatabase, type Session } from "./admin-session.ts";
import { type CommandContext, CommandError, EXIT, printJson, renderColumns } from "./command-context.ts";

const AFTER_HELP = `
OVERDUE_LOG names a Kafka topic between the processes that receive pings and the database.

Examples:
  $ overdue log create
  $ overdue log status
  $ overdue log leave            # after all processes run without OVERDUE_LOG`;

/** Adds the commands below \`log\`. */
export function defineLog(command: Command, context: CommandContext): void {
  command.addHelpText("after", AFTER_HELP);
  command
    .command("create")
    .description("Create the topic with settings that keep pings safe")
    .option(
      "--partitions <count>",
      "Number of partitions; it cannot be changed later",
      parseCount,
      LOG_PARTITIONS,
    )
    .option("--json", "Output JSON (created, partitions, replicas, problems)")
    .action((options: { partitions: number; json?: true }) =>
      onTopic(loadConfig(context.environment), (topic) => create(context, topic, options)),
    );
  command
    .command("status")
    .description("Show the lag of recorders in each partition")
    .option("--json", "Output JSON (problems, partitions, recorders, seconds_behind, retention_half_used)")
    .action((options: { json?: true }) =>
      onDatabase(context, (session) =>
        onTopic(session, (topic) => status(context, { session, topic }, options)),
      ),
    );
  command
    .command("accept-loss")
    .description("Accept lost records, and continue with a monitoring gap")
    .action(() =>
      onDatabase(context, (session) =>
        onTopic(session, async (topic) => {
          const count = await acceptLossNow(session.database, topic);
          context.out(count === 0 ? "No partition is stopped.\n" : `Partitions restarted: ${count}.\n`);
        }),
      ),
    );
  command
    .command("leave")
    .description("Stop waiting for the log, once no process appends to it")
    .option("--kafka-is-gone", "Leave even if the topic cannot be read; unapplied pings are lost")
    .action((options: { kafkaIsGone?: true }) =>
      onDatabase(context, async (session) => {
        if (options.kafkaIsGone) await leaveLog(session.database, { readTopic: null });
        else {
          await onTopic(session, (topic) =>
            leaveLog(session.database, {
              readTopic: async () => {
                const { topicId, partitions } = await described(topic);
                const numbers = [...partitions.keys()];
                const ends = await topic.ends(numbers);
                return { topicId, ends: numbers.map((one) => ends.get(one)?.end ?? 0) };
              },
            }),
          );
        }
        context.out("Left the log. Alerts no longer wait for it.\n");
      }),
    );
}

const PARTITIONS_MAX = 256;

function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= PARTITIONS_MAX) return count;
  throw new CommandError(`The number of partitions must be 1 to ${PARTITIONS_MAX}.`, EXIT.usage);
}

async function onTopic(
  { config }: Pick<Session, "config">,
  work: (topic: KafkaTopic) => Promise<void>,
): Promise<void> {
  if (config.logTopic === null) {
    throw new CommandError(
      "Set OVERDUE_LOG to a Kafka topic, such as kafka://kafka-1:9092/overdue.",
      EXIT.usage,
    );
  }
  const topic = await KafkaTopic.open(config.logTopic);
  try {
    await work(topic);
  } finally {
    await topic.close();
  }
}

async function described(topic: KafkaTopic) {
  const found = await topic.describe();
  if (found === null) throw new CommandError("The topic does not exist. Create it with: overdue log create");
  return found;
}

async function acceptLossNow(database: Database, topic: KafkaTopic): Promise<number> {
  const { topicId, partitions } = await described(topic);
  const numbers = [...partitions.keys()];
  const ends = await topic.ends(numbers);
  return acceptLoss(database, {
    topicId,
    starts: numbers.map((one) => ends.get(one)?.start ?? 0),
    firstSince: async (partition, at) => (await topic.firstSince([partition], at)).get(partition) ?? 0,
  });
}

async function create(
  context: CommandContext,
  topic: KafkaTopic,
  { partitions, json }: { partitions: number; json?: true },
): Promise<void> {
  const brokers = await topic.countBrokers();
  const replicas = brokers >= LOG_REPLICAS ? LOG_REPLICAS : 1;
  const isCreated = await topic.create({
    partitions,
    replicas,
    settings: topicSettings({ brokers: replicas }),
  });
  const found = await described(topic);
  const problems = topicProblems(found);
  const shown = {
    created: isCreated,
    partitions: found.partitions.length,
    replicas: found.partitions[0]?.replicas ?? 0,
  };
  if (json) return printJson(context, { ...shown, problems });
  const what = isCreated ? "Created the topic" : "The topic already exists";
  context.out(`${what}: ${counted(shown.partitions, "partition")}, ${counted(shown.replicas, "replica")}.\n`);
  if (shown.replicas === 1) {
    context.out(
      "With one replica, pings are lost if the disk of the broker fails. Use three brokers in production.\n",
    );
  }
  reportProblems(problems);
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function reportProblems(problems: readonly string[]): void {
  if (problems.length > 0) {
    throw new CommandError(
      `Confirmed pings could be lost: ${problems.join("; ")}. Change the settings of the topic.`,
    );
  }
}

const ANOTHER_TOPIC = "it was deleted and created again, or OVERDUE_LOG was changed";
const NO_RECORDER =
  "Pings are accepted but not recorded, and alerts for missing pings wait. Start a process with the role recorder.";
const STOPPED = "Records are missing from the log. If they cannot be recovered, run: overdue log accept-loss";

type Shown = {
  partition: number;
  /** Records that are not applied yet. */
  lag: number;
  watermark: string;
  receivers: number;
  stopped: string | null;
};

async function status(
  context: CommandContext,
  { session: { database }, topic }: { session: { database: Database }; topic: KafkaTopic },
  { json }: { json?: true },
): Promise<void> {
  const found = await described(topic);
  const ends = await topic.ends([...found.partitions.keys()]);
  const [stored, recorders, now] = await Promise.all([
    listLogPartitions(database),
    listRecorders(database),
    readDatabaseClock(database),
  ]);
  const shown = stored.map((one) => shownOf(one, ends.get(one.partition)?.end ?? one.endOffset));
  const problems = topicProblems(found);
  const isOther = stored.some(({ topicId }) => topicId !== found.topicId);
  const running = recorders.filter(({ seenAt }) => now - seenAt <= RECORDER_LOST_AFTER_MS);
  const seen = running.map(({ name, seenAt }) => ({
    name,
    seenSecondsAgo: Math.round((now - seenAt) / SECOND_MS),
  }));
  const behindMs = Math.max(
    0,
    ...shown.map(({ lag, watermark }) => (lag > 0 ? now - Date.parse(watermark) : 0)),
  );
  const secondsBehind = Math.round(behindMs / SECOND_MS);
  const retentionHalfUsed = await isRetentionHalfUsed(topic, { settings: found.settings, stored });
  if (json) {
    return printJson(context, {
      problems: isOther ? [...problems, ANOTHER_TOPIC] : problems,
      partitions: shown,
      recorders: seen,
      secondsBehind,
      retentionHalfUsed,
    });
  }
  if (shown.length === 0) context.out("No process uses the log.\n");
  else {
    const rows = shown.map((one) => [
      String(one.partition),
      String(one.lag),
      one.watermark,
      String(one.receivers),
      one.stopped ?? "",
    ]);
    context.out(renderColumns([["partition", "lag", "applied until", "receivers", "stopped"], ...rows]));
    context.out(
      `Lag: ${counted(
        shown.reduce((sum, { lag }) => sum + lag, 0),
        "record",
      )}.\n`,
    );
  }
  context.out(
    seen.length === 0
      ? `No recorder is running.${shown.length === 0 ? "" : ` ${NO_RECORDER}`}\n`
      : `Recorders: ${seen.map(({ name }) => name).join(", ")}.\n`,
  );
  if (behindMs > HOLD_REPORTED_AFTER_MS) {
    context.out(
      `Recorders are ${secondsBehind} seconds behind, and alerts for missing pings wait for them.\n`,
    );
  }
  if (retentionHalfUsed) {
    context.out("Half of the topic's retention is used. At 90%, pings are rejected. Start more recorders.\n");
  }
  if (isOther) {
    throw new CommandError(
      `The topic is not the one that was used before: ${ANOTHER_TOPIC}. Restore the old value of OVERDUE_LOG or, if the old topic is lost, run: overdue log accept-loss`,
    );
  }
  if (shown.some(({ stopped }) => stopped !== null)) throw new CommandError(STOPPED);
  reportProblems(problems);
}

/** Whether a record that is not applied is older than half of the retention. */
async function isRetentionHalfUsed(
  topic: KafkaTopic,
  { settings, stored }: Pick<TopicDescription, "settings"> & { stored: readonly StoredPartition[] },
): Promise<boolean> {
  const retentionMs = retentionMsOf(settings);
  if (retentionMs === null || stored.length === 0) return false;
  const at = Date.now() - retentionMs * LOG_RETENTION_REPORTED;
  return isBehind(stored, await topic.firstSince([...stored.keys()], at));
}

function shownOf({ partition, nextOffset, state, stopped }: StoredPartition, end: number): Shown {
  return {
    partition,
    lag: Math.max(0, end - nextOffset),
    watermark: new Date(state.watermarkAt).toISOString(),
    receivers: Object.values(state.edges).filter(({ closedAt }) => closedAt === null).length,
    stopped,
  };
}
