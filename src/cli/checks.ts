// `overdue checks`: lists, creates, pauses, resumes, and deletes checks by the API of a running server.
import { type Command, Option } from "commander";
import type { CheckChange, Check } from "../contract/api/checks.ts";
import type { CheckList, CheckRow, ShownState } from "../contract/api/overview.ts";
import { isUuid } from "../core/identity.ts";
import { SECOND_MS } from "../core/instant.ts";
import {
  addConnectionOptions,
  type ApiConnection,
  CONNECTION_HELP,
  type ConnectionOptions,
  onApi,
} from "./api-connection.ts";
import { parseDuration, parseUuid } from "./arguments.ts";
import {
  type CommandContext,
  CommandError,
  confirm,
  EXIT,
  isoTime,
  shownTime,
  printJson,
  renderColumns,
} from "./command-context.ts";

const AFTER_HELP = `
A check is given by its UUID, its slug, or its name.
${CONNECTION_HELP}

Examples:
  $ overdue checks list --state down
  $ overdue checks create --name "Nightly backup" --schedule "0 3 * * *"
  $ overdue checks get nightly-backup
  $ overdue checks pause nightly-backup
  $ overdue checks resume nightly-backup
  $ overdue checks delete nightly-backup --yes`;

const CREATE_HELP = `
Durations are given as 90s, 45m, 2h, 1d, or combined as 1h30m. Without --schedule and --period, a ping is expected every day.
${CONNECTION_HELP}

Examples:
  $ overdue checks create --name "Nightly backup" --schedule "0 3 * * *" \\
      --tz Europe/Riga --grace 30m --tags "db prod"
  $ overdue checks create --name Heartbeat --period 5m --grace 2m --json`;

const STATES: readonly ShownState[] = ["new", "up", "late", "down", "paused"];

type JsonOption = ConnectionOptions & { json?: true };

/** Adds the commands. */
export function defineChecks(command: Command, context: CommandContext): void {
  command.addHelpText("after", AFTER_HELP);
  defineList(command, context);
  defineGet(command, context);
  defineCreate(command, context);
  defineChange(command, context, CHANGES.pause);
  defineChange(command, context, CHANGES.resume);
  defineDelete(command, context);
}

function defineList(command: Command, context: CommandContext): void {
  type Options = JsonOption & { state?: ShownState; tag?: string };
  addConnectionOptions(
    command
      .command("list")
      .description("List the checks of the project")
      .addOption(new Option("--state <state>", "Only checks in this state").choices(STATES))
      .option("--tag <tag>", "Only checks with this tag")
      .option("--json", "Output JSON (checks)"),
  ).action(async (options: Options) => {
    const all = await onApi(context, options, listAll);
    const checks = all.filter(
      ({ state, tags }) =>
        (options.state === undefined || state === options.state) &&
        (options.tag === undefined || tags.includes(options.tag)),
    );
    if (options.json) return printJson(context, { checks: checks.map(rowJson) });
    if (checks.length === 0) return context.err("No checks.\n");
    context.out(renderColumns([HEAD, ...checks.map(rowOf)]));
  });
}

function defineGet(command: Command, context: CommandContext): void {
  addConnectionOptions(
    command
      .command("get")
      .description("Show a check with its settings and ping URL")
      .argument("<check>", "UUID, slug, or name")
      .option("--json", "Output JSON (the check)"),
  ).action(async (wanted: string, options: JsonOption) => {
    const page = await onApi(context, options, async (api) => {
      const { id } = await findCheck(api, wanted);
      return api.client.call("getCheck", { check: id });
    });
    const { row, settings, pingAddresses, expectation, channels, createdAt } = page;
    const notified = channels.filter(({ isOn }) => isOn);
    if (options.json) {
      return printJson(context, {
        ...rowJson(row),
        desc: settings.desc,
        kind: settings.kind,
        timeoutSeconds: settings.timeoutSeconds,
        schedule: settings.schedule,
        tz: settings.tz,
        graceSeconds: settings.graceSeconds,
        pingUrl: pingAddresses.url,
        pingEmail: pingAddresses.email,
        nextAt: expectation.nextAt.map(isoTime),
        channels: notified.map(({ id, kind, name }) => ({ id, kind, name })),
        createdAt: isoTime(createdAt),
      });
    }
    context.out(
      renderColumns([
        ["Name", nameOf(row)],
        ["UUID", row.id],
        ["Slug", row.slug],
        ["Tags", row.tags.join(" ")],
        ["Status", stateOf(row)],
        ["Expected", expectation.sentence],
        ["Next", shownTime(expectation.nextAt[0] ?? null) ?? "unknown"],
        ["Last ping", shownTime(row.lastPingAt) ?? "never"],
        ["Ping URL", pingAddresses.url],
        ["Channels", notified.map(({ name }) => name).join(", ") || "none"],
      ]),
    );
  });
}

type CreateOptions = JsonOption & {
  name: string;
  slug?: string;
  tags?: string;
  desc?: string;
  schedule?: string;
  period?: number;
  tz?: string;
  grace?: number;
  channels?: CheckChange["channels"];
};

function defineCreate(command: Command, context: CommandContext): void {
  addConnectionOptions(
    command
      .command("create")
      .description("Create a check")
      .requiredOption("--name <name>", "Name")
      .option("--slug <slug>", "Slug for ping URLs (default: made from the name)")
      .option("--tags <tags>", "Tags, separated by spaces")
      .option("--desc <text>", "Description")
      .option("--schedule <expression>", "Cron or OnCalendar expression")
      .option("--period <duration>", "Interval between pings, instead of a schedule", parseDuration)
      .option("--tz <zone>", "Time zone of the schedule (default: UTC)")
      .option("--grace <duration>", "Grace period", parseDuration)
      .option("--channels <uuids>", 'Channels to notify: "all", "none", or UUIDs', parseChannels)
      .option("--json", "Output JSON (the check)"),
  )
    .addHelpText("after", CREATE_HELP)
    .action(async (options: CreateOptions) => {
      const body = bodyOf(options);
      const check = await onApi(context, options, ({ client, project }) =>
        client.call("createCheck", { project, body }),
      );
      if (options.json) return printJson(context, checkJson(check));
      context.out(`Created check ${nameOf(check)} (${check.id}).\nPing URL: ${check.pingAddresses.url}\n`);
    });
}

function parseChannels(given: string): NonNullable<CheckChange["channels"]> {
  if (given === "all") return "*";
  return given === "none" ? [] : given.split(",").map((uuid) => parseUuid(uuid.trim()));
}

function bodyOf(options: CreateOptions): CheckChange {
  const { name, slug, tags, desc, schedule, period, tz, grace, channels } = options;
  if (schedule !== undefined && period !== undefined) {
    throw new CommandError("Specify either --schedule or --period.", EXIT.usage);
  }
  return {
    name,
    ...(slug !== undefined && { slug }),
    ...(tags !== undefined && { tags }),
    ...(desc !== undefined && { desc }),
    ...(schedule !== undefined && { schedule }),
    ...(period !== undefined && { kind: "simple" as const, timeoutSeconds: period }),
    ...(tz !== undefined && { tz }),
    ...(grace !== undefined && { graceSeconds: grace }),
    ...(channels !== undefined && { channels }),
  };
}

type Change = { name: string; summary: string; done: string; operation: "pauseCheck" | "resumeCheck" };

const CHANGES: Readonly<Record<"pause" | "resume", Change>> = {
  pause: { name: "pause", summary: "Pause monitoring of checks", done: "Paused", operation: "pauseCheck" },
  resume: {
    name: "resume",
    summary: "Resume monitoring of paused checks",
    done: "Resumed",
    operation: "resumeCheck",
  },
};

function defineChange(command: Command, context: CommandContext, change: Change): void {
  addConnectionOptions(
    command
      .command(change.name)
      .description(change.summary)
      .argument("<check...>", "UUIDs, slugs, or names")
      .option("--json", "Output JSON (checks)"),
  ).action(async (wanted: readonly string[], options: JsonOption) => {
    const changed = await onApi(context, options, async (api) => {
      const found = await findChecks(api, wanted);
      const done: Check[] = [];
      for (const { id } of found) done.push(await api.client.call(change.operation, { check: id }));
      return done;
    });
    if (options.json) return printJson(context, { checks: changed.map(checkJson) });
    for (const check of changed) context.out(`${change.done} ${nameOf(check)} (${check.id}).\n`);
  });
}

function defineDelete(command: Command, context: CommandContext): void {
  addConnectionOptions(
    command
      .command("delete")
      .description("Delete checks; they stay in the trash for seven days")
      .argument("<check...>", "UUIDs, slugs, or names")
      .option("--yes", "Do not ask for confirmation")
      .option("--json", "Output JSON (deleted)"),
  ).action(async (wanted: readonly string[], options: JsonOption & { yes?: true }) => {
    const deleted = await onApi(context, options, async (api) => {
      const found = await findChecks(api, wanted);
      const what = found.length === 1 ? found.map(nameOf).join("") : `${found.length} checks`;
      await confirm(context, `Delete ${what}?`, options);
      const done: { id: string; name: string; restorableUntil: string | null }[] = [];
      for (const row of found) {
        const { expiresAt } = await api.client.call("deleteCheck", { check: row.id });
        done.push({ id: row.id, name: row.name, restorableUntil: isoTime(expiresAt) });
      }
      return done;
    });
    if (options.json) return printJson(context, { deleted });
    for (const { id, name, restorableUntil } of deleted) {
      context.out(`Deleted ${name || "unnamed"} (${id}). It can be restored until ${restorableUntil}.\n`);
    }
  });
}

/** All checks of the project. */
export async function listAll({ client, project }: ApiConnection): Promise<CheckRow[]> {
  const all: CheckRow[] = [];
  let cursor: string | null = null;
  do {
    const page: CheckList = await client.call("listChecks", {
      project,
      query: cursor === null ? {} : { cursor },
    });
    all.push(...page.checks);
    cursor = page.next;
  } while (cursor !== null);
  return all;
}

/** The check with this UUID, slug, or name. Throws CommandError if there is none, or more than one. */
export async function findCheck(api: ApiConnection, wanted: string): Promise<CheckRow> {
  const [check] = await findChecks(api, [wanted]);
  if (check === undefined) throw new CommandError(`No check "${wanted}".`);
  return check;
}

async function findChecks(api: ApiConnection, wanted: readonly string[]): Promise<CheckRow[]> {
  let all: CheckRow[] | null = null;
  const found = new Map<string, CheckRow>();
  for (const one of wanted) {
    let row: CheckRow;
    if (isUuid(one.toLowerCase())) {
      row = (await api.client.call("getCheck", { check: one.toLowerCase() })).row;
    } else {
      all ??= await listAll(api);
      row = oneOf(all, one);
    }
    found.set(row.id, row);
  }
  return [...found.values()];
}

/** A slug comes before a name. */
function oneOf(all: readonly CheckRow[], wanted: string): CheckRow {
  const bySlug = all.filter(({ slug }) => slug === wanted);
  const matches = bySlug.length > 0 ? bySlug : all.filter(({ name }) => name === wanted);
  const [match, other] = matches;
  if (match === undefined) {
    throw new CommandError(`No check "${wanted}". Run \`overdue checks list\` to see the checks.`);
  }
  if (other !== undefined) {
    const ids = matches.map(({ id }) => id).join(", ");
    throw new CommandError(`There are ${matches.length} checks "${wanted}". Give a UUID: ${ids}.`);
  }
  return match;
}

const HEAD = ["STATUS", "NAME", "SLUG", "EXPECTED", "LAST PING", "UUID"];

function rowOf(row: CheckRow): string[] {
  return [stateOf(row), nameOf(row), row.slug, row.expected, shownTime(row.lastPingAt) ?? "never", row.id];
}

export function nameOf({ name }: Pick<CheckRow, "name">): string {
  return name === "" ? "unnamed" : name;
}

function stateOf({ state, runningSince }: CheckRow): string {
  return runningSince === null ? state : `${state}, running`;
}

function rowJson(row: CheckRow): Record<string, unknown> {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    tags: row.tags,
    state: row.state,
    expected: row.expected,
    runningSince: isoTime(row.runningSince),
    lastPingAt: isoTime(row.lastPingAt),
    lastDuration: row.lastDurationMs === null ? null : row.lastDurationMs / SECOND_MS,
    alertAt: isoTime(row.fuse?.alertAt ?? null),
    downSince: isoTime(row.downSince),
    downReason: row.downReason,
    exitStatus: row.exitStatus,
  };
}

function checkJson(check: Check): Record<string, unknown> {
  return { ...rowJson(check), pingUrl: check.pingAddresses.url, pingEmail: check.pingAddresses.email };
}
