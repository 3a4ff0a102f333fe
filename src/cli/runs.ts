// `overdue runs`: the runs of a check, newest first.
import type { Command } from "commander";
import type { RunRow, RunsPage } from "../contract/api/history.ts";
import { SECOND_MS } from "../core/instant.ts";
import { RUNS_LISTED_DEFAULT, RUNS_LISTED_MAX } from "../core/limits.ts";
import { addConnectionOptions, CONNECTION_HELP, type ConnectionOptions, onApi } from "./api-connection.ts";
import { numberFrom } from "./arguments.ts";
import { findCheck } from "./checks.ts";
import { type CommandContext, isoTime, printJson, renderColumns, shownTime } from "./command-context.ts";

const AFTER_HELP = `${CONNECTION_HELP}

Examples:
  $ overdue runs nightly-backup
  $ overdue runs nightly-backup --limit 1 --json | jq .runs[0].outcome`;

type Options = ConnectionOptions & { limit: number; json?: true };

/** Adds the arguments and the action. */
export function defineRuns(command: Command, context: CommandContext): void {
  const limit = numberFrom({ min: 1, max: RUNS_LISTED_MAX });
  addConnectionOptions(
    command
      .argument("<check>", "UUID, slug, or name of the check")
      .option("--limit <number>", "Maximum number of runs", limit, RUNS_LISTED_DEFAULT)
      .option("--json", "Output JSON (runs)"),
  )
    .addHelpText("after", AFTER_HELP)
    .action(async (wanted: string, options: Options) => {
      const runs = await onApi(context, options, async (api) => {
        const { id } = await findCheck(api, wanted);
        const found: RunRow[] = [];
        let cursor: string | null = null;
        do {
          const page: RunsPage = await api.client.call("listRuns", {
            check: id,
            query: cursor === null ? {} : { cursor },
          });
          found.push(...page.runs);
          cursor = page.next;
        } while (cursor !== null && found.length < options.limit);
        return found.slice(0, options.limit);
      });
      if (options.json) return printJson(context, { runs: runs.map(jsonOf) });
      if (runs.length === 0) return context.err("No runs.\n");
      context.out(renderColumns([HEAD, ...runs.map(rowOf)]));
    });
}

const HEAD = ["TIME", "OUTCOME", "DURATION", "EXIT", "OUTPUT"];

function rowOf({ at, outcome, isLate, durationMs, exitStatus, excerpt }: RunRow): string[] {
  return [
    shownTime(at) ?? "",
    isLate ? `${outcome}, late` : outcome,
    durationText(durationMs),
    exitStatus === null ? "" : String(exitStatus),
    excerpt ?? "",
  ];
}

/** `1.5 s`; empty if it is unknown. */
export function durationText(durationMs: number | null): string {
  return durationMs === null ? "" : `${durationMs / SECOND_MS} s`;
}

function jsonOf({ at, startAt, durationMs, ...run }: RunRow): Record<string, unknown> {
  return {
    ...run,
    at: isoTime(at),
    startAt: isoTime(startAt),
    duration: durationMs === null ? null : durationMs / SECOND_MS,
  };
}
