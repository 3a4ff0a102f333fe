// `overdue discover kubernetes`: the CronJobs of a cluster, and patches that report them. Never changes the cluster.
import type { Command } from "commander";
import { readFile } from "node:fs/promises";
import { text as textOf } from "node:stream/consumers";
import {
  CRON_JOB_REASONS,
  type CronJobs,
  cronJobSlug,
  type FoundCronJob,
  patchText,
  readCronJobs,
} from "../core/cron-job.ts";
import { boundedGrace, type ProposedCheck, proposedGrace, proposedTags } from "../core/discovery.ts";
import { NAME_LENGTH_MAX } from "../core/limits.ts";
import { runTool, ToolError } from "../discover/tools.ts";
import { CONNECTION_HELP, onApi } from "./api-connection.ts";
import { type CommandContext, CommandError, printJson } from "./command-context.ts";
import {
  addDiscoverOptions,
  createChecks,
  type CreatedCheck,
  type DiscoverOptions,
  NEW_BASE,
  NEW_CHECK,
  onMachine,
  printNotes,
  proposalJson,
  proposalTable,
} from "./discovered.ts";

const AFTER_HELP = `
Reads \`kubectl get cronjobs --all-namespaces --output json\`, or the output of
that command from a file or standard input. Prints strategic merge patches for
you to review and apply. The cluster is never changed.

With --write, creates the checks, and the patches contain their UUIDs. The check
of a suspended CronJob is paused. To exclude a CronJob, annotate it with
overdue/ignore=true.
${CONNECTION_HELP}

Examples:
  $ overdue discover kubernetes
  $ kubectl get cronjobs -n shop -o json | overdue discover kubernetes -
  $ overdue discover kubernetes --write > overdue-patches.yaml`;

/** Adds the options and the action. */
export function defineDiscoverKubernetes(command: Command, context: CommandContext): void {
  command
    .argument("[file]", "List of CronJobs as JSON; - for standard input (default: from kubectl)")
    .option("--write", "Create the checks");
  addDiscoverOptions(command)
    .addHelpText("after", AFTER_HELP)
    .action((file: string | undefined, options: Omit<DiscoverOptions, "host">) =>
      discoverKubernetes(context, file, options),
    );
}

type Proposal = ProposedCheck & { from: string };
type Options = Omit<DiscoverOptions, "host">;

async function discoverKubernetes(
  context: CommandContext,
  file: string | undefined,
  options: Options,
): Promise<void> {
  const found = cronJobsIn(await onMachine(() => listText(file)));
  const slugs = new Set<string>();
  const proposals = found.jobs.map((job) => proposalOf(job, { slugs, options }));
  // The patches are on standard output, so that they can be redirected to a file.
  if (!options.json && proposals.length > 0) context.err(`${proposalTable(proposals)}\n`);
  const created: CreatedCheck[] =
    options.write && proposals.length > 0
      ? await onApi(context, options, (connection) =>
          createChecks(connection, proposals, { released: new Set(), reported: new Set() }),
        )
      : [];
  const patch = patchOf(found, created);
  if (options.json) {
    return printJson(context, {
      jobs: proposals.map((proposal, index) => ({
        ...proposalJson(proposal),
        from: proposal.from,
        uuid: created[index]?.uuid ?? null,
      })),
      reporting: found.reporting.map(nameOf),
      skipped: found.leftOut.map((job) => ({ from: nameOf(job), reason: CRON_JOB_REASONS[job.why] })),
      patch,
    });
  }
  if (proposals.length === 0) context.err("No new CronJobs found.\n");
  printNotes(context, "Already reporting:", found.reporting.map(nameOf));
  printNotes(
    context,
    "Skipped:",
    found.leftOut.map((job) => `${nameOf(job)}: ${CRON_JOB_REASONS[job.why]}`),
  );
  context.out(patch);
  if (!options.write && proposals.length > 0) {
    context.err("No checks were created. To create them, add --write.\n");
  }
}

function nameOf({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}/${name}`;
}

async function listText(file: string | undefined): Promise<string> {
  if (file === "-") return textOf(process.stdin);
  if (file !== undefined) return readFile(file, "utf8");
  const args = ["get", "cronjobs", "--all-namespaces", "--output", "json"];
  const { code, stdout, stderr } = await runTool("kubectl", args);
  if (code !== 0) throw new ToolError(`kubectl failed: ${stderr.trim()}`);
  return stdout;
}

function cronJobsIn(text: string): CronJobs {
  const found = readCronJobs(parsed(text));
  if (found === null)
    throw new CommandError("This is not a list of CronJobs. Use: kubectl get cronjobs -A -o json");
  return found;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function proposalOf(
  job: FoundCronJob,
  { slugs, options }: { slugs: Set<string>; options: Options },
): Proposal {
  const { grace, tag = [] } = options;
  return {
    name: job.name.slice(0, NAME_LENGTH_MAX),
    slug: cronJobSlug(job, slugs),
    tags: proposedTags([`namespace:${job.namespace}`, "kubernetes", ...tag]),
    desc: "",
    timing: job.timing,
    graceSeconds: grace ?? boundedGrace(proposedGrace(job.timing, Date.now()) + job.deadlineSeconds),
    isPaused: job.isPaused,
    from: nameOf(job),
  };
}

function patchOf({ jobs }: CronJobs, created: readonly CreatedCheck[]): string {
  if (jobs.length === 0) return "";
  return patchText(
    jobs.map((job, index) => ({ job, ...(created[index] ?? { base: NEW_BASE, uuid: NEW_CHECK }) })),
  );
}
