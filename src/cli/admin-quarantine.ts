// `overdue admin quarantine`: pings that could not be recorded.
import type { Command } from "commander";
import { MINUTE_MS } from "../core/instant.ts";
import { decodeQuarantined } from "../intake/accepted-codec.ts";
import { readIntakes } from "../operations/intakes.ts";
import { type Retried, retryQuarantined } from "../operations/quarantine.ts";
import { countRejectedSignals, listQuarantinedPings, type QuarantinedPing } from "../store/quarantine.ts";
import { onDatabase, type Session } from "./admin-session.ts";
import { type CommandContext, printJson, renderColumns } from "./command-context.ts";

const LISTED_MAX = 100;
const RETRY_MS_MAX = 10 * MINUTE_MS;

const AFTER_HELP = `
A ping is quarantined if it was received but could not be recorded. A quarantined ping does not cause a down alert
for its check.

Examples:
  $ overdue admin quarantine list
  $ overdue admin quarantine retry     # after you fix the cause`;

/** Adds the commands. */
export function defineAdminQuarantine(quarantine: Command, context: CommandContext): void {
  quarantine.addHelpText("after", AFTER_HELP);
  quarantine
    .command("list")
    .description("List the newest quarantined pings with reasons")
    .option("--json", "Output JSON (count, pings)")
    .action(({ json }: { json?: true }) =>
      onDatabase(context, async ({ database }) => {
        const { count } = await countRejectedSignals(database);
        const pings = (await listQuarantinedPings(database, LISTED_MAX)).map(shown);
        if (json) printJson(context, { count, pings });
        else context.out(renderPings(count, pings));
      }),
    );
  quarantine
    .command("retry")
    .description("Retry all quarantined pings")
    .option("--json", "Output JSON (recorded, dropped, failed)")
    .action(({ json }: { json?: true }) =>
      onDatabase(context, async (session) => {
        const retried = await retry(session);
        if (json) return printJson(context, retried);
        const { recorded, dropped } = retried;
        const { count } = await countRejectedSignals(session.database);
        context.out(
          `Recorded: ${recorded}. Dropped because the check no longer exists: ${dropped}. Still quarantined: ${count}.\n`,
        );
      }),
    );
}

async function retry({ database, config }: Session): Promise<Retried> {
  const { settled: visibility } = await readIntakes(database);
  return retryQuarantined(database, {
    visibility,
    rules: { ratePerMinute: config.signalsPerMinute },
    pingLogRows: config.pingLogLimit,
    decode: decodeQuarantined,
    withinMs: RETRY_MS_MAX,
  });
}

type Shown = { id: number; received: string; check: string | null; reason: string };

function shown({ id, at, check, reason }: QuarantinedPing): Shown {
  return { id, received: new Date(at).toISOString(), check: check?.uuid ?? null, reason };
}

function renderPings(count: number, pings: readonly Shown[]): string {
  if (count === 0) return "No pings are quarantined.\n";
  const rows = pings.map(({ received, check, reason }) => [received, check ?? "unknown", reason]);
  const more = count - pings.length;
  const rest = more > 0 ? `${more} more not shown.\n` : "";
  return renderColumns([["received", "check", "reason"], ...rows]) + rest;
}
