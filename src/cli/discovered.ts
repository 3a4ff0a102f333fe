// What the commands of `overdue discover` share: creating checks by slug, the list of proposals, and undoing changes.
import { type Command, InvalidArgumentError } from "commander";
import { homedir, hostname } from "node:os";
import { join } from "node:path";
import type { Environment } from "../config/config.ts";
import type { CheckRow } from "../contract/api/check-row.ts";
import type { CheckChange } from "../contract/api/checks.ts";
import { boundedGrace, numbered, type ProposedCheck } from "../core/discovery.ts";
import { periodText } from "../core/duration-text.ts";
import { type ChangeKind, undoChanges } from "../discover/changes.ts";
import { type Place, PlaceError, placeName } from "../discover/places.ts";
import { ToolError } from "../discover/tools.ts";
import { unifiedDiff } from "../lib/unified-diff.ts";
import { addConnectionOptions, type ApiConnection, type ConnectionOptions } from "./api-connection.ts";
import {
  type CommandContext,
  CommandError,
  EXIT,
  printable,
  printableLines,
  printJson,
  renderColumns,
} from "./command-context.ts";

export type DiscoverOptions = ConnectionOptions & {
  write?: true;
  host: string;
  tag?: readonly string[];
  grace?: number;
  json?: true;
};

/** In place of the UUID of a check that is not created yet. */
export const NEW_CHECK = "NEW-CHECK";
export const NEW_BASE = "PING-URL";

/** Adds the options of every command. */
export function addDiscoverOptions(command: Command): Command {
  return addConnectionOptions(command)
    .option("--grace <duration>", "Grace period of the new checks, such as 30m or 2h", parseGrace)
    .option("--tag <tag>", "Another tag of the new checks (repeatable)", collect)
    .option("--json", "Output JSON");
}

export function addHostOption(command: Command): Command {
  return command.option("--host <name>", "Name of this machine in slugs and tags", shortHostname());
}

function collect(given: string, before: readonly string[] = []): readonly string[] {
  return [...before, given];
}

function shortHostname(): string {
  return hostname().split(".")[0] ?? "host";
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { d: 86_400, h: 3_600, m: 60 };

/** `1h30m` in seconds. */
function parseGrace(text: string): number {
  if (!/^(?=\d)(?:\d{1,4}d)?(?:\d{1,5}h)?(?:\d{1,6}m)?$/.test(text)) {
    throw new InvalidArgumentError("Expected a duration such as 30m, 2h, or 1h30m.");
  }
  const parts = [...text.matchAll(/(\d{1,6})([dhm])/g)];
  return boundedGrace(
    parts.reduce((sum, [, count, unit = "m"]) => sum + Number(count) * (UNIT_SECONDS[unit] ?? 0), 0),
  );
}

/** Where changes are recorded: for root in /var/lib, else in the home folder of the user. */
export function changesFolder({ environment }: CommandContext): string {
  return join(stateFolder(environment), "discover");
}

function stateFolder(environment: Environment): string {
  const own = environment["STATE_DIRECTORY"];
  if (own !== undefined && own !== "") return own;
  if (process.getuid?.() === 0) return "/var/lib/overdue";
  const home = environment["HOME"] ?? homedir();
  return join(environment["XDG_STATE_HOME"] || join(home, ".local/state"), "overdue");
}

/** Runs the work of a command. Throws CommandError for places and tools that cannot be used. */
export async function onMachine<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PlaceError || error instanceof ToolError) throw new CommandError(error.message);
    throw error;
  }
}

// Creating checks.

export type CreatedCheck = {
  uuid: string;
  slug: string;
  /** The part of the ping URL before the UUID. */
  base: string;
  isNew: boolean;
};

/**
 * Creates a check for each proposal, or takes the one with its slug: if it has not received a ping, or if an earlier
 * run of the command has used it and was undone (`released`), and no other job reports to it (`reported`). Otherwise
 * the slug gets a number.
 */
export async function createChecks(
  connection: ApiConnection,
  proposals: readonly ProposedCheck[],
  { released, reported }: { released: ReadonlySet<string>; reported: ReadonlySet<string> },
): Promise<CreatedCheck[]> {
  const rows = new Map((await allChecks(connection)).map((row) => [row.slug, row]));
  const created: CreatedCheck[] = [];
  const used = new Set(reported);
  const isUsable = ({ id, lastPingAt, runningSince }: CheckRow) =>
    !used.has(id) && ((lastPingAt === null && runningSince === null) || released.has(id));
  for (const proposal of proposals) {
    let count = 1;
    let row = rows.get(proposal.slug);
    while (row !== undefined && !isUsable(row)) {
      count += 1;
      row = rows.get(numbered(proposal.slug, count));
    }
    const slug = numbered(proposal.slug, count);
    const check =
      row === undefined
        ? await connection.client.call("createCheck", {
            project: connection.project,
            body: { ...settingsOf(proposal), slug },
          })
        : await connection.client.call("updateCheck", { check: row.id, body: timingOf(proposal) });
    if (proposal.isPaused && row === undefined) {
      await connection.client.call("pauseCheck", { check: check.id });
    }
    used.add(check.id);
    const base = check.pingAddresses.url.slice(0, -check.id.length - 1);
    created.push({ uuid: check.id, slug, base, isNew: row === undefined });
  }
  return created;
}

async function allChecks({ client, project }: ApiConnection): Promise<CheckRow[]> {
  const rows: CheckRow[] = [];
  let cursor: string | null = null;
  do {
    const query: { cursor?: string } = cursor === null ? {} : { cursor };
    const page: { checks: CheckRow[]; next: string | null } = await client.call("listChecks", {
      project,
      query,
    });
    rows.push(...page.checks);
    cursor = page.next;
  } while (cursor !== null);
  return rows;
}

function settingsOf(proposal: ProposedCheck): CheckChange {
  const { name, tags, desc, graceSeconds } = proposal;
  return { name, tags, desc, graceSeconds, ...timingOf(proposal) };
}

/** An existing check keeps its other settings: a user may have changed them. */
function timingOf({ timing }: ProposedCheck): CheckChange {
  return "periodSeconds" in timing
    ? { kind: "simple", timeoutSeconds: timing.periodSeconds }
    : { schedule: timing.schedule, tz: timing.tz };
}

// Output.

/** The proposals as a table. */
export function proposalTable(proposals: readonly (ProposedCheck & { from: string })[]): string {
  const rows = proposals.map(({ name, slug, timing, graceSeconds, from, isPaused }) => [
    `${name}${isPaused ? " (paused)" : ""}`,
    "periodSeconds" in timing
      ? `every ${periodText(timing.periodSeconds)}`
      : timing.schedule.replaceAll("\n", "; "),
    "periodSeconds" in timing ? "" : timing.tz,
    periodText(graceSeconds),
    slug,
    from,
  ]);
  return renderColumns([["NAME", "SCHEDULE", "TIME ZONE", "GRACE", "SLUG", "FROM"], ...rows]);
}

/** For scripts. */
export function proposalJson(proposal: ProposedCheck) {
  const { name, slug, tags, desc, timing, graceSeconds, isPaused } = proposal;
  const isPeriod = "periodSeconds" in timing;
  return {
    name,
    slug,
    tags,
    desc,
    schedule: isPeriod ? null : timing.schedule,
    tz: isPeriod ? null : timing.tz,
    period: isPeriod ? timing.periodSeconds : null,
    grace: graceSeconds,
    paused: isPaused,
  };
}

/** Notes about what is left alone, one line each. */
export function printNotes(context: CommandContext, title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  context.err(`${title}\n${lines.map((line) => `  ${printable(line)}\n`).join("")}`);
}

/** Takes back what the command has written. Fails for places that were edited since, with the difference. */
export async function undo(
  context: CommandContext,
  kind: ChangeKind,
  {
    json,
    afterwards,
  }: { json?: true | undefined; afterwards?: (restored: readonly Place[]) => Promise<void> },
): Promise<void> {
  const undone = await onMachine(() => undoChanges(changesFolder(context), kind));
  const restored = undone.filter((one) => one.kind === "restored").map(({ place }) => place);
  if (restored.length > 0) await afterwards?.(restored);
  const edited = undone.filter((one) => one.kind === "edited");
  if (json) {
    printJson(context, {
      restored: restored.map(placeName),
      checks: undone.flatMap((one) => (one.kind === "edited" ? [] : one.checks)),
      edited: edited.map(({ place }) => placeName(place)),
    });
  } else {
    if (undone.length === 0) context.err("Nothing to undo.\n");
    for (const one of undone) {
      const name = placeName(one.place);
      if (one.kind === "restored") context.out(`Restored ${name}.\n`);
      else if (one.kind === "unchanged") context.out(`${name} is already as it was.\n`);
      else {
        context.err(`${name} was edited since, so it was not restored:\n`);
        const names = { from: `${name} (written)`, to: `${name} (now)` };
        context.err(printableLines(unifiedDiff(one.expected, one.current, names)));
      }
    }
    const checks = undone.reduce((sum, one) => sum + (one.kind === "restored" ? one.checks.length : 0), 0);
    if (checks > 0) {
      context.err(
        `The checks of these jobs get no more pings. Pause or delete ${checks === 1 ? "it" : "them"}, or ${checks === 1 ? "it" : "they"} will alert.\n`,
      );
    }
  }
  if (edited.length > 0) {
    throw new CommandError("Some changes were not undone. Undo your edits, or restore the text yourself.");
  }
}

/** Refuses options that contradict each other. */
export function requireOne(options: Readonly<Record<string, unknown>>): void {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  if (given.length > 1) {
    throw new CommandError(`Use only one of ${given.map(([name]) => name).join(" and ")}.`, EXIT.usage);
  }
}
