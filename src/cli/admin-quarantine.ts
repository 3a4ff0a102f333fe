// `overdue admin quarantine`: pings that could not be recorded.
import type { Command } from "commander";
import { decodeQuarantined } from "../intake/accepted-codec.ts";
import { lookAtIntakes } from "../operations/intake-beat.ts";
import { retryQuarantined } from "../operations/quarantine.ts";
import { findChecksByIds } from "../store/checks/checks.ts";
import { countRejectedSignals, listRejectedSignals } from "../store/intakes/rejected-signals.ts";
import { onDatabase } from "./admin-session.ts";
import { renderColumns } from "./admin-text.ts";
import { type CommandContext, printJson } from "./command-context.ts";

const LISTED_MAX = 100;

const AFTER_HELP = `
A ping is quarantined when it was received but could not be recorded. Its check is not reported as down because of it.

Examples:
  $ overdue admin quarantine list
  $ overdue admin quarantine retry     after you have fixed the cause, for example after an upgrade`;

export function registerQuarantine(admin: Command, context: CommandContext): void {
  const quarantine = admin
    .command("quarantine")
    .description("list and retry pings that could not be recorded")
    .addHelpText("after", AFTER_HELP);
  registerQuarantineList(quarantine, context);
  registerQuarantineRetry(quarantine, context);
}

function registerQuarantineList(quarantine: Command, context: CommandContext): void {
  quarantine
    .command("list")
    .description("print the newest quarantined pings with the reason")
    .option("--json", "print one JSON object: count, pings")
    .action((options: { json?: true }) =>
      onDatabase(context, async ({ database }) => {
        const [{ count }, found] = await Promise.all([
          countRejectedSignals(database),
          listRejectedSignals(database, LISTED_MAX),
        ]);
        const ids = found.flatMap(({ checkId }) => (checkId === null ? [] : [checkId]));
        const checks = ids.length === 0 ? [] : await findChecksByIds(database, [...new Set(ids)]);
        const uuids = new Map(checks.map(({ id, uuid }) => [id, uuid]));
        const pings = found.map(({ id, at, checkId, reason }) => ({
          id,
          received: new Date(at).toISOString(),
          check: checkId === null ? null : (uuids.get(checkId) ?? null),
          reason,
        }));
        if (options.json) return printJson(context, { count, pings });
        if (count === 0) return context.out("No pings are quarantined.\n");
        const rows = pings.map(({ received, check, reason }) => [received, check ?? "unknown", reason]);
        context.out(renderColumns([["received", "check", "reason"], ...rows]));
        if (count > pings.length) context.out(`${count - pings.length} more not shown.\n`);
      }),
    );
}

function registerQuarantineRetry(quarantine: Command, context: CommandContext): void {
  quarantine
    .command("retry")
    .description("try to record every quarantined ping again")
    .option("--json", "print one JSON object: recorded, dropped, failed")
    .action((options: { json?: true }) =>
      onDatabase(context, async ({ database, config }) => {
        const { settled: sight } = await lookAtIntakes(database);
        const retried = await retryQuarantined(database, {
          sight,
          rules: { ratePerMinute: config.signalsPerMinute },
          pingLogRows: config.pingLogLimit,
          decode: decodeQuarantined,
        });
        if (options.json) return printJson(context, retried);
        const { recorded, dropped, failed } = retried;
        context.out(
          `Recorded: ${recorded}. Check no longer exists: ${dropped}. Still quarantined: ${failed}.\n`,
        );
      }),
    );
}
