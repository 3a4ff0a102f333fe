// `overdue incidents` and `overdue ack`: lists and acknowledges incidents over the API of a running server.
import { type Command, InvalidArgumentError, Option } from "commander";
import type { IncidentList, IncidentRow } from "../contract/api/incidents.ts";
import { PAGE_LENGTH_MAX } from "../core/limits.ts";
import {
  addConnectionOptions,
  type ApiConnection,
  CONNECTION_HELP,
  type ConnectionOptions,
  onApi,
} from "./api-connection.ts";
import {
  type CommandContext,
  CommandError,
  EXIT,
  isoTime,
  printJson,
  renderColumns,
  shownTime,
} from "./command-context.ts";

const LIST_HELP = `${CONNECTION_HELP}

Examples:
  $ overdue incidents                # open and acknowledged
  $ overdue incidents --state resolved --json`;

const ACK_HELP = `
Acknowledging stops repeated notifications. Recovery notifications are still sent. It has no effect on an incident that
is already acknowledged or resolved.
${CONNECTION_HELP}

Examples:
  $ overdue ack 217
  $ overdue ack 217 218
  $ overdue ack --all`;

const STATES = ["open", "resolved", "all"] as const;

type ListOptions = ConnectionOptions & { state: (typeof STATES)[number]; json?: true };

/** Adds the options and the action of `overdue incidents`. */
export function defineIncidents(command: Command, context: CommandContext): void {
  addConnectionOptions(command)
    .addOption(
      new Option("--state <state>", 'Incidents to list; "open" includes acknowledged ones')
        .choices(STATES)
        .default("open"),
    )
    .option("--json", "Output JSON (incidents)")
    .addHelpText("after", LIST_HELP)
    .action(async (options: ListOptions) => {
      const incidents = await onApi(context, options, (api) => listAll(api, options.state));
      if (options.json) return printJson(context, { incidents: incidents.map(jsonOf) });
      context.out(
        incidents.length === 0 ? "No incidents.\n" : renderColumns([HEAD, ...incidents.map(rowOf)]),
      );
    });
}

/** The incidents page by page, newest first. */
async function* pagesOf(
  { client, project }: ApiConnection,
  state: ListOptions["state"],
): AsyncGenerator<IncidentRow[]> {
  let cursor: string | null = null;
  do {
    const query = { state, limit: PAGE_LENGTH_MAX, ...(cursor !== null && { cursor }) };
    const page: IncidentList = await client.call("listIncidents", { project, query });
    yield page.incidents;
    cursor = page.next;
  } while (cursor !== null);
}

async function listAll(api: ApiConnection, state: ListOptions["state"]): Promise<IncidentRow[]> {
  const all: IncidentRow[] = [];
  for await (const page of pagesOf(api, state)) all.push(...page);
  return all;
}

const HEAD = ["NUMBER", "STATE", "SEVERITY", "OPENED", "CAUSE", "CHECKS"];

function rowOf({ number, state, severity, openedAt, cause, checks, checkCount }: IncidentRow): string[] {
  const names = checks.map(({ name }) => (name === "" ? "unnamed" : name));
  const more = checkCount - names.length;
  const shown = more > 0 ? [...names, `and ${more} more`] : names;
  return [String(number), state, severity, shownTime(openedAt) ?? "", cause ?? "", shown.join(", ")];
}

/** For scripts: times as ISO 8601 in UTC, as in all commands. */
function jsonOf(incident: IncidentRow): Record<string, unknown> {
  const { openedAt, resolvedAt, acknowledged, nextStep } = incident;
  return {
    ...incident,
    openedAt: isoTime(openedAt),
    resolvedAt: isoTime(resolvedAt),
    acknowledged: acknowledged && { ...acknowledged, at: isoTime(acknowledged.at) },
    nextStep: nextStep && { ...nextStep, at: isoTime(nextStep.at) },
  };
}

type AckOptions = ConnectionOptions & { all?: true; json?: true };

/** Adds the arguments and the action of `overdue ack`. */
export function defineAck(command: Command, context: CommandContext): void {
  addConnectionOptions(command)
    .argument<number[] | undefined>("[number...]", "Incident numbers", (text, before = []) => [
      ...before,
      numberOf(text),
    ])
    .option("--all", "Acknowledge all open incidents of the project")
    .option("--json", "Output JSON (acknowledged)")
    .addHelpText("after", ACK_HELP)
    .action(async (numbers: readonly number[], options: AckOptions) => {
      const isNamed = numbers.length > 0;
      if (isNamed === (options.all === true)) {
        throw new CommandError("Specify either incident numbers or --all.", EXIT.usage);
      }
      const acknowledged = await onApi(context, options, (api) =>
        options.all ? acknowledgeAll(api) : acknowledgeEach(api, numbers),
      );
      if (options.json) return printJson(context, { acknowledged });
      const names = acknowledged.map((number) => `#${number}`).join(", ");
      context.out(acknowledged.length === 0 ? "No open incidents.\n" : `Acknowledged ${names}.\n`);
    });
}

function numberOf(text: string): number {
  if (!/^#?[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError("Expected an incident number.");
  return Number(text.replace("#", ""));
}

/** One by one, so that an unknown number is an error. */
async function acknowledgeEach(
  { client, project }: ApiConnection,
  numbers: readonly number[],
): Promise<number[]> {
  const acknowledged: number[] = [];
  for (const number of numbers) {
    const { state } = await client.call("acknowledgeIncident", { project, incident: String(number) });
    if (state === "acknowledged") acknowledged.push(number);
  }
  return acknowledged;
}

async function acknowledgeAll(api: ApiConnection): Promise<number[]> {
  const { client, project } = api;
  const acknowledged: number[] = [];
  for await (const page of pagesOf(api, "open")) {
    const incidents = page.filter(({ state }) => state === "open").map(({ number }) => number);
    if (incidents.length === 0) continue;
    const done = await client.call("acknowledgeIncidents", { project, body: { incidents } });
    acknowledged.push(...done.acknowledged);
  }
  return acknowledged;
}
