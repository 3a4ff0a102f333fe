// `overdue tail`: prints pings and status changes as they happen.
import type { Command } from "commander";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiResponseError } from "../client/api-client.ts";
import type { EventsPage, EventRow } from "../contract/api/history.ts";
import type { ChecksEvent, FlipEvent } from "../contract/api/live.ts";
import type { CheckRow } from "../contract/api/overview.ts";
import type { Problem } from "../contract/api/problem.ts";
import { PINGS_LISTED_MAX, TAIL_RECONNECTS_MAX } from "../core/limits.ts";
import {
  addConnectionOptions,
  type ApiConnection,
  CONNECTION_HELP,
  type ConnectionOptions,
  fetchHere,
  onApi,
} from "./api-connection.ts";
import { numberFrom } from "./arguments.ts";
import { findCheck, listAll, nameOf } from "./checks.ts";
import {
  type CommandContext,
  CommandError,
  isoTime,
  printable,
  printJson,
  shownTime,
} from "./command-context.ts";
import { readEvents } from "./event-stream.ts";
import { durationText } from "./runs.ts";

const COUNT_MAX = 1_000_000;
/** The server sends a heartbeat every 5 seconds. */
const SILENCE_MS_MAX = 12_000;
const PAUSE_MS_MIN = 1_000;
const PAUSE_MS_MAX = 30_000;
/** A status change may be sent twice, shortly after another. */
const FLIPS_REMEMBERED_MAX = 1_000;

const AFTER_HELP = `
Prints one line for each ping and each status change, until you press Ctrl-C. With --json, each line is a JSON object. If the connection is lost, the command reconnects, and gives up after ${TAIL_RECONNECTS_MAX} failures in a row.
${CONNECTION_HELP}

Examples:
  $ overdue tail
  $ overdue tail nightly-backup --count 1     # wait for the next ping
  $ overdue tail --json | jq --unbuffered -r .check.name`;

type Options = ConnectionOptions & { count?: number; json?: true };

type Ping = Extract<EventRow, { type: "ping" }>;

/** Adds the arguments and the action. */
export function defineTail(command: Command, context: CommandContext): void {
  addConnectionOptions(
    command
      .argument("[check]", "UUID, slug, or name of a check (default: all checks)")
      .option("--count <number>", "Stop after this many lines", numberFrom({ min: 1, max: COUNT_MAX }))
      .option("--json", "Output JSON, one object per line"),
  )
    .addHelpText("after", AFTER_HELP)
    .action((wanted: string | undefined, options: Options) =>
      onApi(context, options, async (api) => {
        const only = wanted === undefined ? null : (await findCheck(api, wanted)).id;
        await follow(new Tail(api, { only, ...printer(context, options) }), context);
      }),
    );
}

type Printer = { print: (line: Line) => void; isDone: () => boolean };
type Line = { check: { id: string; name: string } } & (
  | { type: "ping"; ping: Ping }
  | { type: "flip"; flip: FlipEvent }
);

function printer(context: CommandContext, { count = Number.POSITIVE_INFINITY, json }: Options): Printer {
  let printed = 0;
  return {
    isDone: () => printed >= count,
    print: (line) => {
      if (printed >= count) return;
      printed += 1;
      if (json) printJson(context, jsonOf(line));
      else context.out(`${printable(textOf(line))}\n`);
    },
  };
}

/** Reconnects after errors, until there are too many in a row. */
async function follow(tail: Tail, context: CommandContext): Promise<void> {
  let failures = 0;
  let reason = "";
  while (!tail.isDone()) {
    try {
      await tail.connect(() => {
        failures = 0;
      });
      reason = "the server closed the connection";
    } catch (error) {
      if (!isTemporary(error)) throw error;
      reason = error.message;
    }
    if (tail.isDone()) return;
    failures += 1;
    if (failures > TAIL_RECONNECTS_MAX) {
      throw new CommandError(`The connection was lost ${failures} times in a row: ${reason}.`);
    }
    if (failures === 2) context.err(`overdue: Connection lost (${reason}). Reconnecting.\n`);
    await sleep(Math.min(PAUSE_MS_MIN * 2 ** (failures - 1), PAUSE_MS_MAX));
  }
}

/** Errors of the network, timeouts, and a server that restarts. */
function isTemporary(error: unknown): error is Error {
  if (!(error instanceof Error) || error instanceof CommandError) return false;
  if (error instanceof ApiResponseError) return error.status >= 500 || error.status === 429;
  return error instanceof TypeError || error.name === "TimeoutError" || error.name === "AbortError";
}

/** One project's pings. What was printed is remembered by check, so that nothing is printed twice. */
class Tail {
  readonly #api: ApiConnection;
  readonly #only: string | null;
  readonly #printer: Printer;
  /** The last ping of each check that was printed, or that was there before. */
  readonly #last = new Map<string, { at: number; n: number }>();
  readonly #flips = new Set<number>();
  #cursor: string | null = null;
  #isFirst = true;

  constructor(api: ApiConnection, { only, ...to }: Printer & { only: string | null }) {
    this.#api = api;
    this.#only = only;
    this.#printer = to;
  }

  isDone(): boolean {
    return this.#printer.isDone();
  }

  /** Prints until the connection ends. */
  async connect(onAlive: () => void): Promise<void> {
    const { client, project, apiKey } = this.#api;
    const closing = new AbortController();
    const query = this.#cursor === null ? {} : { cursor: this.#cursor };
    const timer = setTimeout(() => closing.abort(), SILENCE_MS_MAX);
    try {
      const response = await fetchHere(client.url("streamChanges", { project, query }), {
        headers: { "X-Api-Key": apiKey, Accept: "text/event-stream" },
        signal: closing.signal,
      });
      if (!response.ok || response.body === null) {
        const problem = (await response.json().catch(() => null)) as Problem | null;
        throw new ApiResponseError(response.status, problem);
      }
      // After the stream is open, so that no ping is between the two.
      if (this.#isFirst) await this.#readAll();
      this.#isFirst = false;
      for await (const { name, data, id } of readEvents(response.body)) {
        timer.refresh();
        onAlive();
        await this.#take(name, data);
        if (id !== null) this.#cursor = id;
        if (this.isDone()) return;
      }
    } finally {
      clearTimeout(timer);
      closing.abort();
    }
  }

  async #take(name: string, data: string): Promise<void> {
    if (name === "checks") return this.#printPings((JSON.parse(data) as ChecksEvent).checks);
    if (name === "flip") return this.#printFlip(JSON.parse(data) as FlipEvent);
    // There were too many changes to send.
    if (name === "reload") return this.#readAll();
  }

  /** At first, notes what is there; later, prints what is new. */
  async #readAll(): Promise<void> {
    const rows = await listAll(this.#api);
    if (!this.#isFirst) return this.#printPings(rows);
    for (const { id, lastPingAt } of rows) this.#last.set(id, { at: lastPingAt ?? 0, n: 0 });
  }

  async #printPings(rows: readonly CheckRow[]): Promise<void> {
    for (const { id, name, lastPingAt } of rows) {
      const isOther = this.#only !== null && id !== this.#only;
      const last = this.#last.get(id) ?? { at: 0, n: 0 };
      if (isOther || lastPingAt === null || lastPingAt < last.at) continue;
      for (const ping of await this.#pingsAfter(id, last)) {
        this.#last.set(id, { at: ping.at, n: ping.n });
        this.#printer.print({ type: "ping", check: { id, name }, ping });
      }
    }
  }

  /** Oldest first. */
  async #pingsAfter(check: string, last: { at: number; n: number }): Promise<Ping[]> {
    const found: Ping[] = [];
    let cursor: string | null = null;
    do {
      const query = { types: "ping", ...(cursor !== null && { cursor }) };
      const page: EventsPage = await this.#api.client.call("listEvents", { check, query });
      const pings = page.events.filter((event): event is Ping => event.type === "ping");
      const isNew = ({ at, n }: Ping) => (last.n === 0 ? at > last.at : n > last.n);
      found.push(...pings.filter(isNew));
      cursor = pings.every(isNew) && found.length < PINGS_LISTED_MAX ? page.next : null;
    } while (cursor !== null);
    return found.toReversed();
  }

  #printFlip(flip: FlipEvent): void {
    const { id, checkId, checkName } = flip;
    if (this.#flips.has(id) || (this.#only !== null && checkId !== this.#only)) return;
    this.#flips.add(id);
    const [oldest] = this.#flips;
    if (this.#flips.size > FLIPS_REMEMBERED_MAX && oldest !== undefined) this.#flips.delete(oldest);
    this.#printer.print({ type: "flip", check: { id: checkId, name: checkName }, flip });
  }
}

function textOf(line: Line): string {
  const at = shownTime(line.type === "ping" ? line.ping.at : line.flip.at);
  if (line.type === "flip") return `${at}  ${nameOf(line.check)}  is ${line.flip.to} (${line.flip.reason})`;
  const { kind, exitStatus, durationMs, source, excerpt } = line.ping;
  const parts = [
    exitStatus === null ? kind : `${kind} ${exitStatus}`,
    durationText(durationMs),
    source,
    excerpt ?? "",
  ];
  return [at, nameOf(line.check), ...parts.filter((part) => part !== "")].join("  ");
}

function jsonOf(line: Line): Record<string, unknown> {
  const { type, check } = line;
  if (line.type === "flip") {
    const { at, from, to, reason } = line.flip;
    return { type, at: isoTime(at), check, from, to, reason };
  }
  const { at, n, kind, exitStatus, durationMs, source, excerpt } = line.ping;
  const duration = durationMs === null ? null : durationMs / 1_000;
  return { type, at: isoTime(at), check, n, kind, exitStatus, duration, source, excerpt };
}
