// `overdue admin channel test` and `log`: what was told through a channel, and what came of it.
import { type Command, InvalidArgumentError } from "commander";
import { PAGE_LENGTH_DEFAULT, PAGE_LENGTH_MAX } from "../../core/limits.ts";
import { getDelivery, listDeliveries, testChannel } from "../../operations/alerts/channels/delivery-log.ts";
import type { LoggedDelivery } from "../../store/alerts/delivery-log.ts";
import { findStoredIdentity } from "../../store/database-identity.ts";
import type { Database } from "../../store/db.ts";
import { readDatabaseClock } from "../../store/instance.ts";
import { onDatabase } from "../admin-session.ts";
import { renderColumns } from "../admin-text.ts";
import { CommandError, type CommandContext, printJson } from "../command-context.ts";
import { channelOf, COMMAND_LINE, parseUuid } from "./channel-names.ts";

const WAIT_SECONDS_DEFAULT = 15;
const WAIT_SECONDS_MAX = 300;
const LOOK_EVERY_MS = 250;

/** Adds the command to `overdue admin channel`. */
export function registerChannelTest(channel: Command, context: CommandContext): void {
  type Options = { wait: number; json?: true };
  channel
    .command("test")
    .description("Send a test notification and wait for the result; exits with 1 if delivery fails")
    .argument("<channel>", "Channel UUID; see `overdue admin channel list`", parseUuid)
    .option("--wait <seconds>", "Maximum time to wait", numberUpTo(WAIT_SECONDS_MAX), WAIT_SECONDS_DEFAULT)
    .option("--json", "Output JSON (deliveries)")
    .action((uuid: string, options: Options) =>
      onDatabase(context, async ({ database }) => {
        const { projectId } = await channelOf(database, uuid);
        const at = await readDatabaseClock(database);
        const planned = await testChannel(database, { projectId, uuid, by: COMMAND_LINE, at });
        const ended = await outcomes(database, { projectId, planned, waitMs: options.wait * 1_000 });
        if (options.json) printJson(context, { deliveries: ended.map(shown) });
        else context.out(renderDeliveries(ended));
        if (ended.some(({ attemptCount }) => attemptCount === 0)) {
          throw new CommandError(await whyUnsent(database));
        }
        if (ended.some(({ state }) => state !== "sent"))
          throw new CommandError("The test notification was not delivered.");
      }),
    );
}

async function whyUnsent(database: Database): Promise<string> {
  const identity = await findStoredIdentity(database);
  if ((identity?.state ?? "normal") === "normal") {
    return "The test notification has not been sent yet. Check that a process with the role notifier is running.";
  }
  return (
    "The server is in safe mode and sends no notifications, because its database was restored or copied. " +
    "If this is the production server, run `overdue admin confirm-restore`."
  );
}

function numberUpTo(max: number): (given: string) => number {
  return (given) => {
    const number = /^\d{1,6}$/.test(given) ? Number(given) : Number.NaN;
    if (number <= max) return number;
    throw new InvalidArgumentError(`Expected a whole number from 0 to ${max}.`);
  };
}

/** The deliveries once each was tried, or when the time is over. */
async function outcomes(
  database: Database,
  given: { projectId: number; planned: readonly LoggedDelivery[]; waitMs: number },
): Promise<LoggedDelivery[]> {
  const { projectId, planned, waitMs } = given;
  const endAtMs = performance.now() + waitMs;
  for (;;) {
    const now = await Promise.all(
      planned.map(({ id }) => getDelivery(database, { projectId, deliveryId: id })),
    );
    const isDone = now.every(({ state, reason }) => state !== "pending" || reason !== null);
    if (isDone || performance.now() >= endAtMs) return now;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** Adds the command to `overdue admin channel`. */
export function registerChannelLog(channel: Command, context: CommandContext): void {
  type Options = { limit: number; json?: true };
  channel
    .command("log")
    .description("List the deliveries of a channel, newest first")
    .argument("<channel>", "Channel UUID; see `overdue admin channel list`", parseUuid)
    .option(
      "--limit <number>",
      "Maximum number of deliveries",
      numberUpTo(PAGE_LENGTH_MAX),
      PAGE_LENGTH_DEFAULT,
    )
    .option("--json", "Output JSON (deliveries)")
    .action((uuid: string, { limit, json }: Options) =>
      onDatabase(context, async ({ database }) => {
        const { projectId } = await channelOf(database, uuid);
        const { items } = await listDeliveries(database, { projectId, uuid, from: null, limit });
        if (json) return printJson(context, { deliveries: items.map(shown) });
        context.out(items.length === 0 ? "No deliveries yet.\n" : renderDeliveries(items));
      }),
    );
}

function timeOf(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

function shown(delivery: LoggedDelivery) {
  return {
    id: String(delivery.id),
    channel: delivery.channel.uuid,
    kind: delivery.kind,
    check: delivery.check?.uuid ?? null,
    state: delivery.state,
    attempts: delivery.attemptCount,
    created: timeOf(delivery.createdAt),
    next_try: timeOf(delivery.nextTryAt),
    settled: timeOf(delivery.settledAt),
    request: delivery.requestSummary,
    response_code: delivery.responseCode,
    response_excerpt: delivery.responseExcerpt,
    reason: delivery.reason,
  };
}

function renderDeliveries(deliveries: readonly LoggedDelivery[]): string {
  return renderColumns(
    deliveries.map((one) => [
      timeOf(one.createdAt) ?? "",
      one.flipTo ?? one.kind,
      one.check === null ? "" : one.check.name || one.check.uuid,
      one.state,
      `${one.attemptCount} ${one.attemptCount === 1 ? "attempt" : "attempts"}`,
      one.responseCode === null ? "" : String(one.responseCode),
      one.reason ?? one.requestSummary ?? "",
    ]),
  );
}
