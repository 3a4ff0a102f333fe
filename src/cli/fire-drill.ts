// `overdue fire-drill`: starts a fire drill on a running server and shows its steps.
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import type { FireDrill } from "../contract/api/fire-drills.ts";
import { FIRE_DRILL_MS_MAX } from "../core/limits.ts";
import { addConnectionOptions, CONNECTION_HELP, type ConnectionOptions, onApi } from "./api-connection.ts";
import { parseUuid } from "./arguments.ts";
import { type CommandContext, CommandError, isoTime, printJson } from "./command-context.ts";

const HELP = `
A fire drill simulates a missed deadline. It takes the path of a real alert and shows how long each step takes and who
would be notified. No check changes its status. Without --send, nothing leaves the server. Only owners and managers can
use --send, with a personal access token.

The exit code is 1 if a channel fails, if no channel would be notified, or if a step takes too long.
${CONNECTION_HELP}

Examples:
  $ overdue fire-drill
  $ overdue fire-drill --check f618072a-7bde-4eee-af63-71a77c5723bc --json`;

const ASK_EVERY_MS = 500;
/** Longer than the server waits for a drill, and for closing it. */
const WAIT_MS_MAX = 3 * FIRE_DRILL_MS_MAX;

const HOPS: Readonly<Record<FireDrill["hops"][number]["name"], string>> = {
  deadline: "deadline missed",
  found: "found by the sweeper",
  written: "alert written",
  planned: "notifications planned",
  claimed: "claimed by the notifier",
  rendered: "messages rendered",
  answered: "receivers responded",
};

type Options = ConnectionOptions & { check?: string; send?: true; json?: true };

/** Adds the options and the action. */
export function defineFireDrill(
  command: Command,
  context: CommandContext,
  setExitCode: (code: number) => void,
): void {
  addConnectionOptions(command)
    .option("--check <uuid>", "Simulate this check (default: one with all channels)", parseUuid)
    .option("--send", "Send the messages, marked as a fire drill")
    .option("--json", "Output JSON (the fire drill)")
    .addHelpText("after", HELP)
    .action(async (options: Options) => {
      const drill = await onApi(context, options, async ({ client, project }) => {
        const body = { check: options.check ?? null, send: options.send === true };
        let last = await client.call("startFireDrill", { project, body });
        const end = performance.now() + WAIT_MS_MAX;
        for (let shown = 0; ; ) {
          if (!options.json) shown = showHops(context, last, shown);
          if (last.endedAt !== null) return last;
          if (performance.now() > end) {
            throw new CommandError(
              "The fire drill does not end. Check that the sweeper and the notifier run.",
            );
          }
          await sleep(ASK_EVERY_MS);
          last = await client.call("getFireDrill", { project, fireDrill: last.id });
        }
      });
      if (drill.outcome !== "ok" && drill.outcome !== "held") setExitCode(1);
      if (options.json) return printJson(context, jsonOf(drill));
      for (const { channel, outcome, reason } of drill.recipients) {
        const name = channel.name === "" ? channel.kind : `${channel.name} (${channel.kind})`;
        context.out(`${name}: ${outcome === "sent" ? "notified" : (reason ?? outcome)}\n`);
      }
      context.out(`${summaryOf(drill)}\n`);
    });
}

/** Shows the steps that are new; returns how many are shown. */
function showHops(context: CommandContext, { hops }: FireDrill, shown: number): number {
  const deadlineAt = hops[0]?.at ?? 0;
  for (const { name, at } of hops.slice(shown)) context.err(`${at - deadlineAt} ms  ${HOPS[name]}\n`);
  return hops.length;
}

function summaryOf({ outcome, durationMs, channelCount }: FireDrill): string {
  if (durationMs === null) {
    return outcome === "held" ? "Held by a silence: no notifications." : "No channel would be notified.";
  }
  const channels = channelCount === 1 ? "1 channel" : `${channelCount} channels`;
  return `${durationMs} ms from missed deadline to ${channels}.`;
}

/** For scripts: times as ISO 8601 in UTC, as in all commands. */
function jsonOf({ hops, startedAt, endedAt, ...drill }: FireDrill): Record<string, unknown> {
  return {
    ...drill,
    startedAt: isoTime(startedAt),
    endedAt: isoTime(endedAt),
    hops: hops.map(({ name, at }) => ({ name, at: isoTime(at) })),
    recipients: drill.recipients.map(({ claimedAt, renderedAt, answeredAt, closing, ...recipient }) => ({
      ...recipient,
      claimedAt: isoTime(claimedAt),
      renderedAt: isoTime(renderedAt),
      answeredAt: isoTime(answeredAt),
      closing: closing && { ...closing, at: isoTime(closing.at) },
    })),
    held: drill.held && { ...drill.held, until: isoTime(drill.held.until) },
  };
}
