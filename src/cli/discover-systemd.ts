// `overdue discover systemd`: the timers of this machine, and drop-ins that report their services.
import type { Command } from "commander";
import { type ProposedCheck, proposedGrace, proposedSlug, proposedTags } from "../core/discovery.ts";
import { NAME_LENGTH_MAX } from "../core/limits.ts";
import {
  dropInText,
  type FoundTimer,
  readTimers,
  TIMER_REASONS,
  timerGrace,
  type Timers,
} from "../core/systemd-timer.ts";
import { makeChange, recordedChecks } from "../discover/changes.ts";
import { machineZone } from "../discover/crontabs.ts";
import { type Place, readPlace } from "../discover/places.ts";
import {
  dropInPath,
  makeDropInFolder,
  reloadUnits,
  removeDropInFolder,
  showTimers,
  verifyProblem,
} from "../discover/systemd.ts";
import { unifiedDiff } from "../lib/unified-diff.ts";
import { CONNECTION_HELP, onApi } from "./api-connection.ts";
import { type CommandContext, CommandError, printJson } from "./command-context.ts";
import {
  addDiscoverOptions,
  addHostOption,
  changesFolder,
  createChecks,
  type CreatedCheck,
  type DiscoverOptions,
  NEW_BASE,
  NEW_CHECK,
  onMachine,
  printNotes,
  proposalJson,
  proposalTable,
  requireOne,
  undo,
} from "./discovered.ts";

const AFTER_HELP = `
Each service gets a drop-in, NAME.service.d/50-overdue.conf. It sends a ping
when the job starts, for at most 2 seconds, and when it ends: with the exit
code, or as failed after a timeout, a signal, or lack of memory. Needs curl.

Timers that run only after boot are skipped.
${CONNECTION_HELP}

Examples:
  $ overdue discover systemd
  $ overdue discover systemd backup.timer fstrim.timer
  $ sudo overdue discover systemd backup.timer --write
  $ sudo overdue discover systemd --undo`;

type SystemdOptions = DiscoverOptions & { undo?: true };

/** Adds the options and the action. */
export function defineDiscoverSystemd(command: Command, context: CommandContext): void {
  command
    .argument("[timer...]", "Timers to read (default: all)")
    .option("--write", "Create the checks and write the drop-ins")
    .option("--undo", "Remove the drop-ins");
  addDiscoverOptions(addHostOption(command))
    .addHelpText("after", AFTER_HELP)
    .action((timers: readonly string[], options: SystemdOptions) =>
      discoverSystemd(context, timers, options),
    );
}

type Proposal = ProposedCheck & { from: string };

async function discoverSystemd(
  context: CommandContext,
  names: readonly string[],
  options: SystemdOptions,
): Promise<void> {
  requireOne({ "--write": options.write, "--undo": options.undo });
  if (options.undo)
    return undo(context, "systemd", { ...options, afterwards: (places) => reload(context, places) });
  const found = await onMachine(async () => readTimers(await showTimers(names), { tz: await machineZone() }));
  const slugs = new Set<string>();
  const proposals = found.timers.map((timer) => proposalOf(timer, { slugs, options }));
  if (!options.json) printFound(context, found, proposals);
  const created =
    options.write && proposals.length > 0 ? await writeAll(context, { found, proposals, options }) : [];
  const diff = diffOf(found, created);
  if (options.json) {
    return printJson(context, {
      jobs: proposals.map((proposal, index) => ({
        ...proposalJson(proposal),
        from: proposal.from,
        uuid: created[index]?.uuid ?? null,
      })),
      reporting: found.reporting.map(({ timer }) => timer),
      skipped: found.leftOut.map(({ timer, why }) => ({ from: timer, reason: TIMER_REASONS[why] })),
      diff,
    });
  }
  context.out(diff);
  if (options.write) context.err("To remove the drop-ins, run: overdue discover systemd --undo\n");
  else if (proposals.length > 0) context.err("Nothing was changed. To create the checks, add --write.\n");
}

function proposalOf(
  timer: FoundTimer,
  { slugs, options }: { slugs: Set<string>; options: SystemdOptions },
): Proposal {
  const { host, grace, tag = [] } = options;
  const name = timer.timer.replace(/\.timer$/, "");
  return {
    name: name.slice(0, NAME_LENGTH_MAX),
    slug: proposedSlug([host, name], slugs),
    tags: proposedTags([`host:${host}`, "systemd", ...tag]),
    desc: timer.description,
    timing: timer.timing,
    graceSeconds: grace ?? timerGrace(proposedGrace(timer.timing, Date.now()), timer),
    isPaused: false,
    from: timer.timer,
  };
}

function printFound(context: CommandContext, found: Timers, proposals: readonly Proposal[]): void {
  if (proposals.length > 0) context.out(`${proposalTable(proposals)}\n`);
  else context.err("No new timers found.\n");
  printNotes(
    context,
    "Already reporting:",
    found.reporting.map(({ timer }) => timer),
  );
  printNotes(
    context,
    "Skipped:",
    found.leftOut.map(({ timer, why }) => `${timer}: ${TIMER_REASONS[why]}`),
  );
}

function diffOf({ timers }: Timers, created: readonly CreatedCheck[]): string {
  return timers
    .map(({ service }, index) => {
      const { base, uuid } = created[index] ?? { base: NEW_BASE, uuid: NEW_CHECK };
      return unifiedDiff("", dropInText(`${base}/${uuid}`), { from: "/dev/null", to: dropInPath(service) });
    })
    .join("");
}

type Written = { found: Timers; proposals: readonly Proposal[]; options: SystemdOptions };

async function writeAll(
  context: CommandContext,
  { found, proposals, options }: Written,
): Promise<CreatedCheck[]> {
  const folder = changesFolder(context);
  for (const { service } of found.timers) {
    const problem = await verifyProblem(service, dropInText("https://overdue.example.org/ping/x"));
    if (problem !== null) throw new CommandError(`systemd does not accept the drop-in:\n${problem}`);
  }
  const { released, reported } = await recordedChecks(folder);
  const created = await onApi(context, options, (connection) =>
    createChecks(connection, proposals, { released, reported }),
  );
  await onMachine(async () => {
    for (const [index, { service }] of found.timers.entries()) {
      const check = created[index];
      if (check === undefined) continue;
      const path = dropInPath(service);
      const place: Place = { kind: "file", path };
      await makeDropInFolder(path);
      const before = await readPlace(place);
      const after = dropInText(`${check.base}/${check.uuid}`);
      await makeChange(folder, { kind: "systemd", place, before, after, checks: [check.uuid] });
    }
  });
  await reload(context, []);
  return created;
}

/** The drop-ins take effect at the next start of a service after that. */
async function reload(context: CommandContext, removed: readonly Place[]): Promise<void> {
  for (const place of removed) if (place.kind === "file") await removeDropInFolder(place.path);
  try {
    await onMachine(reloadUnits);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    context.err(`${error.message}\nRun: systemctl daemon-reload\n`);
  }
}
