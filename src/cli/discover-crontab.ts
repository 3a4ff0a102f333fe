// `overdue discover crontab`: the jobs of crontabs, and lines that report them.
import { type Command, Option } from "commander";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { curlLine, RUN_PATH, runLine } from "../contract/api/words.ts";
import { type ProposedCheck, proposedGrace, proposedSlug, proposedTags } from "../core/discovery.ts";
import { isUuid } from "../core/identity.ts";
import { DESCRIPTION_LENGTH_MAX } from "../core/limits.ts";
import {
  pipeWarning,
  type ReportingCrontab,
  withPingBase,
  withReports,
  withWrappers,
} from "../core/schedule/crontab-lines.ts";
import { type CrontabJob, LEFT_OUT_REASONS, readCrontab } from "../core/schedule/crontab.ts";
import { makeChange, recordedChecks } from "../discover/changes.ts";
import { findCrontabs, type FoundCrontab, machineZone, supportsCronTz } from "../discover/crontabs.ts";
import { placeName } from "../discover/places.ts";
import { unifiedDiff } from "../lib/unified-diff.ts";
import { webAddressKind } from "../lib/setting-value.ts";
import { CONNECTION_HELP, onApi } from "./api-connection.ts";
import { type CommandContext, CommandError, EXIT, printableLines, printJson } from "./command-context.ts";
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
Without files, reads your crontab, /etc/crontab, and /etc/cron.d. Skips lines
that already report, @reboot, jobs in the background, and jobs with the comment
"# overdue: ignore" above them or at the end of the line.

With --write, creates the checks first. Then each file is replaced at once, and
a user's crontab is written with crontab(1). The old text is kept for --undo.
Commands stay on this machine unless you use --with-command.
${CONNECTION_HELP}

Examples:
  $ overdue discover crontab
  $ sudo overdue discover crontab --all-users --write
  $ sudo overdue discover crontab /etc/cron.d/backup --tag prod --grace 2h
  $ overdue discover crontab --undo
  $ overdue discover crontab \\
      --replace-url https://hc-ping.com https://overdue.example.org/ping`;

const FORMS = ["run", "curl"] as const;

type CrontabOptions = DiscoverOptions & {
  undo?: true;
  allUsers?: true;
  withCommand?: true;
  form: (typeof FORMS)[number];
  wrapper?: string;
  replaceUrl?: readonly string[];
};

/** Adds the options and the action. */
export function defineDiscoverCrontab(command: Command, context: CommandContext): void {
  command
    .argument("[file...]", "Crontabs to read instead")
    .option("--write", "Create the checks and change the crontabs")
    .option("--undo", "Restore the crontabs as they were before --write")
    .option("--all-users", "Read the crontabs of all users (as root)")
    .option("--with-command", "Add the command of each job to the description of its check")
    .addOption(
      new Option("--form <form>", "How lines report: with overdue-run, or with curl after the job")
        .choices(FORMS)
        .default("run"),
    )
    .option("--wrapper <path>", `Path of overdue-run (default: ${RUN_PATH}, or in PATH)`)
    .option("--replace-url <old-new...>", "Replace the ping URL of another server by a new one");
  addDiscoverOptions(addHostOption(command))
    .addHelpText("after", AFTER_HELP)
    .action((files: readonly string[], options: CrontabOptions) =>
      discoverCrontab(context, { files, options }),
    );
}

type Given = { files: readonly string[]; options: CrontabOptions };

async function discoverCrontab(context: CommandContext, given: Given): Promise<void> {
  const { files, options } = given;
  requireOne({ "--write": options.write, "--undo": options.undo });
  requireOne({ "--replace-url": options.replaceUrl, "--undo": options.undo });
  if (options.undo) return undo(context, "crontab", options);
  if (options.allUsers && process.getuid?.() !== 0) {
    throw new CommandError("--all-users must be run as root.", EXIT.usage);
  }
  const found = await onMachine(() => findCrontabs({ files, allUsers: options.allUsers === true }));
  printNotes(context, "Not read:", found.problems);
  if (files.length > 0 && found.crontabs.length === 0) throw new CommandError("No crontab could be read.");
  if (options.replaceUrl !== undefined) return replaceUrls(context, found.crontabs, options);
  const plan = await planOf(context, found.crontabs, options);
  const base = options.write ? null : plan.changes(NEW_CHECKS);
  if (!options.json) printPlan(context, plan);
  if (base !== null) {
    if (options.json) return printJson(context, planJson(plan, { diff: diffOf(base), created: [] }));
    context.out(printableLines(diffOf(base)));
    if (plan.proposals.length > 0) context.err("Nothing was changed. To create the checks, add --write.\n");
    return;
  }
  await writePlan(context, plan, options);
}

// The plan: what is found, and the text of each crontab once its checks exist.

type Proposal = ProposedCheck & { from: string };
type Text = { crontab: FoundCrontab; after: string; checks: readonly string[] };

type Plan = {
  proposals: Proposal[];
  reporting: { from: string; name: string; by: string; check: string | null }[];
  skipped: { from: string; reason: string }[];
  warnings: string[];
  /** Checks that lines of these crontabs already report to. */
  reported: Set<string>;
  /** The changed crontabs. The checks are in the order of the proposals. */
  changes: (checks: (index: number) => { uuid: string; base: string }) => Text[];
};

const NEW_CHECKS = () => ({ uuid: NEW_CHECK, base: NEW_BASE });
/** As long as real ones. */
const LONGEST = () => ({ uuid: "0".repeat(36), base: `https://${"x".repeat(40)}/ping` });

async function planOf(
  context: CommandContext,
  crontabs: readonly FoundCrontab[],
  options: CrontabOptions,
): Promise<Plan> {
  const zone = await machineZone();
  const usesCronTz = await supportsCronTz();
  const path = options.form === "run" ? await wrapperPath(context, options) : RUN_PATH;
  const plan: Plan = {
    proposals: [],
    reporting: [],
    skipped: [],
    warnings: [],
    reported: new Set(),
    changes: () => [],
  };
  const slugs = new Set<string>();
  const jobsOf = new Map<FoundCrontab, { job: CrontabJob; index: number }[]>();
  for (const crontab of crontabs) {
    const at = (line: number) => `${placeName(crontab.place)}:${line}`;
    const { jobs, reporting, leftOut } = readCrontab(crontab.text, crontab);
    for (const { line, check, ...one } of reporting) {
      plan.reporting.push({ from: at(line), ...one, check });
      if (check !== null && isUuid(check)) plan.reported.add(check);
    }
    plan.skipped.push(...leftOut.map(({ line, why }) => ({ from: at(line), reason: LEFT_OUT_REASONS[why] })));
    const unchanged = new Set(linesWith(crontab, jobs, () => LONGEST(), { path, options }).unchanged);
    const own: { job: CrontabJob; index: number }[] = [];
    for (const job of jobs) {
      if (unchanged.has(job.line)) {
        plan.skipped.push({ from: at(job.line), reason: UNCHANGED[options.form] });
        continue;
      }
      const warning = options.form === "run" ? pipeWarning(job.command, { isRewritten: false }) : null;
      if (warning !== null) plan.warnings.push(`${at(job.line)}: ${warning}`);
      const tz = usesCronTz ? (job.tz ?? zone) : zone;
      if (job.tz !== null && !usesCronTz) {
        plan.warnings.push(
          `${at(job.line)}: The cron of this machine ignores CRON_TZ, so the check uses ${zone}.`,
        );
      }
      own.push({ job, index: plan.proposals.length });
      plan.proposals.push({ ...proposalOf(job, { tz, slugs, options }), from: at(job.line) });
    }
    if (own.length > 0) jobsOf.set(crontab, own);
  }
  plan.changes = (checks) =>
    [...jobsOf].map(([crontab, own]) => {
      const targets = new Map(own.map(({ job, index }) => [job.line, checks(index)]));
      const target = (line: number) => targets.get(line) ?? LONGEST();
      const jobs = own.map(({ job }) => job);
      const { text } = linesWith(crontab, jobs, target, { path, options });
      return { crontab, after: text, checks: [...targets.values()].map(({ uuid }) => uuid) };
    });
  return plan;
}

const UNCHANGED = {
  run: "uses an unsupported shell, or would be too long for cron",
  curl: "ends in a comment, or hides the job's exit code behind a pipe",
} as const;

function linesWith(
  { text }: FoundCrontab,
  jobs: readonly CrontabJob[],
  target: (line: number) => { uuid: string; base: string },
  { path, options }: { path: string; options: CrontabOptions },
): ReportingCrontab {
  if (options.form === "curl") {
    const reports = jobs.map(({ line, command }) => {
      const { base, uuid } = target(line);
      return [line, { command, report: curlLine(`${base}/${uuid}/$?`, { isQuiet: true }) }] as const;
    });
    return withReports(text, new Map(reports));
  }
  const wrappers = jobs.map((job) => {
    return [job.line, { job, wrapper: runLine({ ...target(job.line), path }) }] as const;
  });
  return withWrappers(text, new Map(wrappers), { ownStatus: false });
}

function proposalOf(
  job: CrontabJob,
  { tz, slugs, options }: { tz: string; slugs: Set<string>; options: CrontabOptions },
): ProposedCheck {
  const { host, grace, tag = [] } = options;
  const timing = { schedule: job.schedule, tz };
  const desc = [job.about, options.withCommand === true ? job.command : ""].filter((one) => one !== "");
  return {
    name: job.name,
    slug: proposedSlug([host, job.name], slugs),
    tags: proposedTags([`host:${host}`, "cron", ...tag]),
    desc: desc.join("\n\n").slice(0, DESCRIPTION_LENGTH_MAX),
    timing,
    graceSeconds: grace ?? proposedGrace(timing, Date.now()),
    isPaused: false,
  };
}

/** An absolute path: cron has its own PATH. */
async function wrapperPath(context: CommandContext, { wrapper, write }: CrontabOptions): Promise<string> {
  const folders = (context.environment["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => folder.startsWith("/"));
  const paths =
    wrapper === undefined ? [RUN_PATH, ...folders.map((one) => join(one, "overdue-run"))] : [wrapper];
  if (paths.some((path) => !/^\/[\w./+-]+$/.test(path) && wrapper !== undefined)) {
    throw new CommandError(
      "--wrapper must be an absolute path of letters, digits, and the characters . _ + -",
      EXIT.usage,
    );
  }
  for (const path of paths) {
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  if (!write) return paths[0] ?? RUN_PATH;
  throw new CommandError(
    `${paths[0]} was not found, so the jobs would not run. Install overdue-run from your server:\n` +
      `  curl -fsSL https://overdue.example.org/overdue-run -o ${RUN_PATH} && chmod 755 ${RUN_PATH}`,
  );
}

// Output and changes.

function printPlan(context: CommandContext, plan: Plan): void {
  if (plan.proposals.length > 0) context.out(`${proposalTable(plan.proposals)}\n`);
  else context.err("No new jobs found.\n");
  printNotes(
    context,
    "Already reporting:",
    plan.reporting.map(({ from, name, by, check }) => {
      return `${from}: ${name} (${by}${check === null ? "" : `, ${check}`})`;
    }),
  );
  printNotes(
    context,
    "Skipped:",
    plan.skipped.map(({ from, reason }) => `${from}: ${reason}`),
  );
  printNotes(context, "Warnings:", plan.warnings);
}

function diffOf(texts: readonly Text[]): string {
  return texts
    .map(({ crontab, after }) => unifiedDiff(crontab.text, after, { from: placeName(crontab.place) }))
    .join("");
}

function planJson(plan: Plan, { diff, created }: { diff: string; created: readonly CreatedCheck[] }) {
  return {
    jobs: plan.proposals.map((proposal, index) => ({
      ...proposalJson(proposal),
      from: proposal.from,
      uuid: created[index]?.uuid ?? null,
    })),
    reporting: plan.reporting,
    skipped: plan.skipped,
    warnings: plan.warnings,
    diff,
  };
}

async function writePlan(context: CommandContext, plan: Plan, options: CrontabOptions): Promise<void> {
  if (plan.proposals.length === 0) {
    if (options.json) printJson(context, planJson(plan, { diff: "", created: [] }));
    return;
  }
  const folder = changesFolder(context);
  const { released, reported } = await recordedChecks(folder);
  const created = await onApi(context, options, (connection) =>
    createChecks(connection, plan.proposals, {
      released,
      reported: new Set([...reported, ...plan.reported]),
    }),
  );
  const texts = plan.changes((index) => created[index] ?? LONGEST());
  if (!options.json) context.out(printableLines(diffOf(texts)));
  await writeTexts(context, texts, options);
  if (options.json) printJson(context, planJson(plan, { diff: diffOf(texts), created }));
  else {
    const count = created.filter(({ isNew }) => isNew).length;
    context.out(`Created ${count === 1 ? "1 check" : `${count} checks`}.\n`);
    context.err("To restore the crontabs, run: overdue discover crontab --undo\n");
  }
}

/** A crontab that cannot be written does not stop the others. */
async function writeTexts(
  context: CommandContext,
  texts: readonly Text[],
  { json }: CrontabOptions,
): Promise<void> {
  const failed: string[] = [];
  for (const { crontab, after, checks } of texts) {
    const { place, text: before } = crontab;
    try {
      await onMachine(() =>
        makeChange(changesFolder(context), { kind: "crontab", place, before, after, checks }),
      );
      if (!json) context.out(`Changed ${placeName(place)}.\n`);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      failed.push(error.message);
    }
  }
  if (failed.length > 0) throw new CommandError(failed.join("\n"));
}

/** Lines keep their UUIDs, so no server is needed. */
async function replaceUrls(
  context: CommandContext,
  crontabs: readonly FoundCrontab[],
  options: CrontabOptions,
): Promise<void> {
  const [from, to, more] = options.replaceUrl ?? [];
  if (from === undefined || to === undefined || more !== undefined) {
    throw new CommandError("--replace-url needs two URLs: the old one and the new one.", EXIT.usage);
  }
  for (const url of [from, to]) {
    const parsed = webAddressKind.parse(url);
    if ("problem" in parsed) throw new CommandError(`--replace-url: ${url} ${parsed.problem}.`, EXIT.usage);
  }
  const texts: Text[] = crontabs.flatMap((crontab) => {
    const after = withPingBase(crontab.text, { from, to });
    return after === crontab.text ? [] : [{ crontab, after, checks: [] }];
  });
  if (options.json)
    printJson(context, {
      changed: texts.map(({ crontab }) => placeName(crontab.place)),
      diff: diffOf(texts),
    });
  else context.out(printableLines(diffOf(texts)));
  if (texts.length === 0) return context.err(`No ping URLs of ${from} found.\n`);
  if (options.write) return writeTexts(context, texts, options);
  context.err("Nothing was changed. To change the crontabs, add --write.\n");
}
