// `overdue silence`: creates, lists, and ends silences by the API of a running server.
import type { Command } from "commander";
import type { NewSilence, Silence } from "../contract/api/silences.ts";
import type { Instant } from "../core/instant.ts";
import { PAGE_LENGTH_MAX } from "../core/limits.ts";
import { addConnectionOptions, CONNECTION_HELP, type ConnectionOptions, onApi } from "./api-connection.ts";
import { collectUuid, parseDuration, parseTime } from "./arguments.ts";
import {
  type CommandContext,
  CommandError,
  EXIT,
  isoTime,
  printJson,
  renderColumns,
} from "./command-context.ts";

const AFTER_HELP = `
A silence holds notifications about problems. Checks are monitored as usual, and recoveries are always sent. If a
problem is still open when the silence ends, its notification is sent then.
${CONNECTION_HELP}

Examples:
  $ overdue silence --tag db --for 2h --reason "DB upgrade"
  $ overdue silence --check f618072a-7bde-4eee-af63-71a77c5723bc --until-success
  $ overdue silence --all --until "2026-12-02 02:00"
  $ overdue silence --tag prod --schedule "0 22 * * 6" --tz Europe/Riga \\
      --for 4h --reason "Patch night"
  $ overdue silence list
  $ overdue silence end 1f0c6a7e-52d1-4f6b-8a53-6a1f6d0f7c21

Run \`overdue silence create --help\` for all options.`;

const CREATE_HELP = `
Durations are given as 90s, 45m, 2h, 1d, or combined as 1h30m. Times without an offset are in the time zone of this
machine.
${CONNECTION_HELP}`;

type CreateOptions = ConnectionOptions & {
  check?: readonly string[];
  tag?: string;
  all?: true;
  for?: number;
  from?: Instant;
  until?: Instant;
  untilSuccess?: true;
  schedule?: string;
  tz?: string;
  holdAfter?: number;
  reason?: string;
  json?: true;
};

/** Adds the commands. */
export function defineSilence(command: Command, context: CommandContext): void {
  command.addHelpText("after", AFTER_HELP);
  const create = command
    .command("create", { isDefault: true })
    .description("Create a silence (the default command)")
    .option("--check <uuid...>", "Silence these checks", collectUuid)
    .option("--tag <tag>", "Silence checks with this tag")
    .option("--all", "Silence all checks of the project")
    .option("--for <duration>", "How long it lasts", parseDuration)
    .option("--until <time>", "When it ends", parseTime)
    .option("--until-success", "End it for each check at its next success")
    .option("--from <time>", "When it starts (default: now)", parseTime)
    .option(
      "--schedule <expression>",
      "Start a window at each time of this cron or OnCalendar expression (requires --for)",
    )
    .option("--tz <zone>", "Time zone of --schedule (default: UTC)")
    .option(
      "--hold-after <duration>",
      "After the end, wait up to this long for the next run before notifying",
      parseDuration,
    )
    .option("--reason <text>", "Reason, shown with the silence and in delayed notifications")
    .option("--json", "Output JSON (the silence)");
  addConnectionOptions(create)
    .addHelpText("after", CREATE_HELP)
    .action((options: CreateOptions) => createSilence(context, options));

  const list = command
    .command("list")
    .description("List silences that have not ended")
    .option("--ended", `List the last ${PAGE_LENGTH_MAX} that have ended instead`)
    .option("--json", "Output JSON (silences)");
  addConnectionOptions(list).action((options: ConnectionOptions & { ended?: true; json?: true }) =>
    listSilences(context, options),
  );

  const end = command
    .command("end")
    .description("End silences now")
    .argument("<id...>", "IDs of silences", collectUuid)
    .option("--json", "Output JSON (ended)");
  addConnectionOptions(end).action((ids: readonly string[], options: ConnectionOptions & { json?: true }) =>
    endSilences(context, ids, options),
  );
}

async function createSilence(context: CommandContext, options: CreateOptions): Promise<void> {
  const body = bodyOf(options);
  const silence = await onApi(context, options, ({ client, project }) =>
    client.call("createSilence", { project, body }),
  );
  if (options.json) return printJson(context, jsonOf(silence));
  context.out(`Silenced ${scopeText(silence)} ${timeText(silence)}.\n`);
  context.out(`To end it, run: overdue silence end ${silence.id}\n`);
}

function bodyOf(options: CreateOptions): NewSilence {
  const {
    check,
    tag,
    all,
    for: duration,
    from,
    until,
    untilSuccess,
    schedule,
    tz,
    holdAfter,
    reason,
  } = options;
  const scopes = [check, tag, all].filter((one) => one !== undefined);
  if (scopes.length !== 1) {
    throw new CommandError("Specify what to silence: --check, --tag, or --all.", EXIT.usage);
  }
  return {
    ...(check !== undefined && { checks: [...check] }),
    ...(tag !== undefined && { tag }),
    ...(duration !== undefined && { duration }),
    ...(from !== undefined && { from }),
    ...(until !== undefined && { until }),
    ...(untilSuccess !== undefined && { untilSuccess }),
    ...(schedule !== undefined && { schedule }),
    ...(tz !== undefined && { tz }),
    ...(holdAfter !== undefined && { holdAfter }),
    ...(reason !== undefined && { reason }),
  };
}

async function listSilences(
  context: CommandContext,
  options: ConnectionOptions & { ended?: true; json?: true },
): Promise<void> {
  const query = { state: options.ended ? ("ended" as const) : ("current" as const), limit: PAGE_LENGTH_MAX };
  const { silences } = await onApi(context, options, ({ client, project }) =>
    client.call("listSilences", { project, query }),
  );
  if (options.json) return printJson(context, { silences: silences.map(jsonOf) });
  if (silences.length === 0) return context.err("No silences.\n");
  const rows = silences.map((silence) => [
    silence.id,
    silence.state,
    scopeText(silence),
    timeText(silence),
    silence.reason,
  ]);
  context.out(renderColumns(rows));
}

async function endSilences(
  context: CommandContext,
  ids: readonly string[],
  options: ConnectionOptions & { json?: true },
): Promise<void> {
  await onApi(context, options, async ({ client, project }) => {
    for (const silence of ids) await client.call("endSilence", { project, silence });
  });
  if (options.json) return printJson(context, { ended: ids });
  for (const id of ids) context.out(`Ended silence ${id}.\n`);
}

/** For scripts: times as ISO 8601 in UTC, durations in seconds. */
function jsonOf(silence: Silence) {
  return {
    id: silence.id,
    checks: silence.checks,
    tag: silence.tag,
    reason: silence.reason,
    state: silence.state,
    window_from: isoTime(silence.window?.from ?? null),
    window_until: isoTime(silence.window?.until ?? null),
    from: isoTime(silence.from),
    until: isoTime(silence.until),
    until_success: silence.untilSuccess,
    schedule: silence.schedule,
    tz: silence.tz,
    duration: silence.duration,
    hold_after: silence.holdAfter,
    created_by: silence.createdBy,
    ended_at: isoTime(silence.endedAt),
  };
}

function scopeText({ checks, tag }: Silence): string {
  if (tag !== null) return `checks with the tag ${tag}`;
  if (checks === null) return "all checks";
  return checks.length === 1 ? (checks[0]?.name ?? "") || "1 check" : `${checks.length} checks`;
}

/** `until 2026-11-17 20:00 UTC`, or when its window begins and ends. */
function timeText({ state, window, until, untilSuccess, endedAt }: Silence): string {
  const success = untilSuccess ? "the next success, at most until " : "";
  if (window === null) return `until ${success}${minuteText(endedAt ?? until)}`;
  const end = `until ${success}${minuteText(window.until)}`;
  return state === "active" ? end : `from ${minuteText(window.from)} ${end}`;
}

function minuteText(at: Instant | null): string {
  return at === null ? "now" : `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
