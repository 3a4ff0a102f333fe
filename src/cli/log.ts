// `overdue log`: creates the topic of OVERDUE_LOG, shows positions, continues after a loss, and leaves the log.
import type { Command } from "commander";
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
import { KafkaError, KafkaTopic, type TopicDescription } from "../lib/kafka.ts";
import { acceptLoss, leaveLog, type LogTopicNow } from "../operations/log.ts";
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
      onDatabase(context, (session) => onTopic(session, (topic) => create(context, topic, options))),
    );
  command
    .command("status")
    .description("Show how far recorders are in each partition")
    .option("--json", "Output JSON (problems, partitions, recorders, seconds_behind, retention_half_used)")
    .action((options: { json?: true }) =>
      onDatabase(context, (session) =>
        onTopic(session, (topic) => status(context, { session, topic }, options)),
      ),
    );
  command
    .command("accept-loss")
    .description("Continue with stopped partitions, and record a monitoring gap for lost pings")
    .action(() =>
      onDatabase(context, (session) =>
        onTopic(session, async (topic) => {
          const count = await acceptLoss(session.database, await topicNow(topic));
          context.out(count === 0 ? "No partition is stopped.\n" : `Partitions restarted: ${count}.\n`);
        }),
      ),
    );
  command
    .command("leave")
    .description("Stop waiting for the log, after all processes run without it")
    .option("--kafka-is-gone", "Leave although the topic cannot be read; pings in it are lost")
    .action((options: { kafkaIsGone?: true }) =>
      onDatabase(context, async (session) => {
        if (options.kafkaIsGone) await leaveLog(session.database, { ends: null });
        else {
          await onTopic(session, async (topic) => {
            const { partitions } = await described(topic);
            const ends = await topic.ends([...partitions.keys()]);
            await leaveLog(session.database, {
              ends: [...partitions.keys()].map((one) => ends.get(one)?.end ?? 0),
            });
          });
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

async function onTopic({ config }: Session, work: (topic: KafkaTopic) => Promise<void>): Promise<void> {
  if (config.logTopic === null) {
    throw new CommandError(
      "Set OVERDUE_LOG to a Kafka topic, such as kafka://kafka-1:9092/overdue.",
      EXIT.usage,
    );
  }
  const topic = await KafkaTopic.open(config.logTopic);
  try {
    await work(topic);
  } catch (error) {
    if (error instanceof KafkaError) throw new CommandError(error.message);
    throw error;
  } finally {
    await topic.close();
  }
}

async function described(topic: KafkaTopic) {
  const found = await topic.describe();
  if (found === null) throw new CommandError("The topic does not exist. Create it with: overdue log create");
  return found;
}

async function topicNow(topic: KafkaTopic): Promise<LogTopicNow> {
  const { topicId, partitions } = await described(topic);
  const ends = await topic.ends([...partitions.keys()]);
  return { topicId, starts: [...partitions.keys()].map((one) => ends.get(one)?.start ?? 0) };
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
  const what = isCreated ? "Created the topic" : "The topic exists";
  context.out(`${what}: ${shown.partitions} partitions, ${shown.replicas} replicas.\n`);
  if (shown.replicas === 1) {
    context.out(
      "With one replica, pings are lost if the disk of the broker fails. Use three brokers in production.\n",
    );
  }
  reportProblems(problems);
}

function reportProblems(problems: readonly string[]): void {
  if (problems.length > 0) {
    throw new CommandError(
      `Confirmed pings could be lost: ${problems.join("; ")}. Change the settings of the topic.`,
    );
  }
}

type Shown = {
  partition: number;
  lag: number;
  watermark: string;
  edges: number;
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
  const problems = [...topicProblems(found)];
  if (stored.some(({ topicId }) => topicId !== found.topicId)) {
    problems.push("it is another topic than before: it was deleted and created again");
  }
  const seen = recorders.map(({ name, seenAt }) => ({
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
    const rest = { recorders: seen, secondsBehind, retentionHalfUsed };
    return printJson(context, { problems, partitions: shown, ...rest });
  }
  if (shown.length === 0) context.out("No process has appended pings yet.\n");
  else {
    const rows = shown.map((one) => [
      String(one.partition),
      String(one.lag),
      one.watermark,
      String(one.edges),
      one.stopped ?? "",
    ]);
    context.out(renderColumns([["partition", "lag", "applied until", "edges", "stopped"], ...rows]));
  }
  context.out(
    seen.length === 0 ? "No recorder runs.\n" : `Recorders: ${seen.map(({ name }) => name).join(", ")}.\n`,
  );
  if (behindMs > HOLD_REPORTED_AFTER_MS) {
    context.out(
      `Recorders are ${secondsBehind} seconds behind, and alerts for missing pings wait for them.\n`,
    );
  }
  if (retentionHalfUsed) {
    context.out("Half of the topic's retention is used. At 90%, pings are rejected. Start more recorders.\n");
  }
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
    edges: Object.values(state.edges).filter(({ closedAt }) => closedAt === null).length,
    stopped,
  };
}
