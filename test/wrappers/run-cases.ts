// Runs the cases for each wrapper, some at a time.
import { randomUUID } from "node:crypto";
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { type Case, CASES } from "./cases.ts";
import type { Ping, Servers } from "./servers.ts";
import {
  type Ended,
  endGroup,
  type Folder,
  leftFiles,
  newFolder,
  runCount,
  start,
  type Wrapper,
} from "./wrapper.ts";

/** What is wrong with a case; null: nothing. */
export type Result = { case: string; wrapper: string; problem: string | null };

const AT_ONCE = 4;
const POLL_MS = 10;
const WAIT_MS_MAX = 30_000;

export type CaseOptions = { servers: Servers; folder: string; isQuick: boolean };

/** Runs every case with every wrapper that it is for. */
export async function runCases(wrappers: readonly Wrapper[], options: CaseOptions): Promise<Result[]> {
  const pairs = wrappers.flatMap((wrapper) =>
    CASES.filter((one) => isFor(one, wrapper) && !(options.isQuick && one.isSlow === true)).map(
      (one) => [one, wrapper] as const,
    ),
  );
  return inParallel(pairs, AT_ONCE, async ([one, wrapper]) => {
    const problem = await runCase(one, wrapper, options);
    return { case: one.name, wrapper: wrapper.name, problem };
  });
}

function isFor({ not = {} }: Case, { kind }: Wrapper): boolean {
  return not[kind] === undefined;
}

/** The results in the order of the items. */
export async function inParallel<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at] as T);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}

async function runCase(
  one: Case,
  wrapper: Wrapper,
  { servers, folder }: CaseOptions,
): Promise<string | null> {
  const at = newFolder(folder);
  const check = randomUUID();
  const filled = Object.entries(one.environment ?? {}).map(([name, value]) => [
    name,
    value.replace("DIR", at.path).replace("CHECK", check),
  ]);
  const environment = {
    ...at.environment,
    HC_API_URL: servers.url(one.network ?? "recorder"),
    CHECK_UUID: check,
    ...(Object.fromEntries(filled) as Record<string, string>),
  };
  const job = one.command ?? ["/bin/sh", "-c", one.job, "job", ...(one.args ?? [])];
  const command = [...wrapper.command, ...(one.flags ?? []), "--", ...job];
  const around = one.around?.replace("CHECK", check);
  const whole = around === undefined ? command : ["/bin/bash", "-c", around, "around", ...command];
  const started = start(whole, { environment, input: one.input ?? "", folder: at.path });
  try {
    if (one.signal !== undefined) await sendSignal(started, one.signal);
    const ended = await started.ended;
    return problemOf(one, { ended, pings: servers.pings(check), at });
  } finally {
    endGroup(started.child);
  }
}

type Signal = NonNullable<Case["signal"]>;

async function sendSignal(
  { child, out }: ReturnType<typeof start>,
  { name, after, toGroup = false }: Signal,
): Promise<void> {
  const until = Date.now() + WAIT_MS_MAX;
  while (!out().includes(after) && child.exitCode === null && Date.now() < until) await sleep(POLL_MS);
  if (child.pid !== undefined && child.exitCode === null)
    process.kill(toGroup ? -child.pid : child.pid, name);
}

/** The exit code as a shell has it. */
export function codeOf({ code, signal }: Pick<Ended, "code" | "signal">): number {
  return signal === null ? (code ?? -1) : 128 + constants.signals[signal];
}

type Seen = { ended: Ended; pings: readonly Ping[]; at: Folder };

function problemOf(one: Case, { ended, pings, at }: Seen): string | null {
  const problems = [
    differs("exit code", one.code, codeOf(ended)),
    differs("runs", one.runs ?? 1, runCount(at)),
    one.out === undefined ? null : differs("stdout", one.out, ended.out),
    textProblem("stderr", one.err, ended.err),
    one.pings === undefined || one.pings === false
      ? null
      : differs("pings", one.pings.join(), endsOf(pings).join()),
    textProblem("body", one.body, pings.at(-1)?.body.toString("utf8") ?? ""),
    ...queryProblems(one, pings[0]),
    ...pings.map(formProblem),
    one.secondsMax !== undefined && ended.ms > one.secondsMax * 1_000
      ? `took ${ended.ms.toFixed()} ms`
      : null,
    differs("left files", "", leftFiles(at).join()),
  ].filter((problem) => problem !== null);
  return problems.length === 0 ? null : `${problems.join("; ")} (stderr: ${ended.err.slice(0, 300)})`;
}

/** The ends of the paths. A success may have none, or the exit code 0. */
function endsOf(pings: readonly Ping[]): string[] {
  return pings.map(({ path }) => /\/(start|fail|log|\d{1,3})$/.exec(path)?.[1] ?? "0");
}

const SHOWN_LENGTH_MAX = 200;

function differs(what: string, expected: string | number, found: string | number): string | null {
  if (expected === found) return null;
  const shown = (value: string | number) => JSON.stringify(value).slice(0, SHOWN_LENGTH_MAX);
  return `${what}: ${shown(found)} instead of ${shown(expected)}`;
}

function textProblem(what: string, expected: string | RegExp | undefined, found: string): string | null {
  if (expected === undefined || typeof expected === "string")
    return expected === undefined ? null : differs(what, expected, found);
  return expected.test(found)
    ? null
    : `${what}: ${JSON.stringify(found.slice(-SHOWN_LENGTH_MAX))} does not match ${String(expected)}`;
}

/** Each expected value, and no other parameter but the run ID. */
function queryProblems({ query, name }: Case, ping: Ping | undefined): (string | null)[] {
  if (query === undefined) return [];
  if (ping === undefined) return ["no ping"];
  const { rid, ...found } = Object.fromEntries(ping.query);
  const hasRid = name !== "no run ID";
  const values = Object.entries(query).map(([key, value]) =>
    value === "*" ? (key in found ? null : `no ${key}`) : differs(key, value, found[key] ?? "nothing"),
  );
  return [
    differs("rid", String(hasRid), String(rid !== undefined)),
    differs("parameters", Object.keys(query).toSorted().join(), Object.keys(found).toSorted().join()),
    ...values,
  ];
}

const RID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** What holds for every ping. */
function formProblem({ method, headers, query, body }: Ping): string | null {
  const rid = query.get("rid");
  if (method !== "POST") return `method ${method}`;
  if (headers["content-type"] !== "text/plain") return `type ${headers["content-type"]}`;
  if (headers["content-length"] !== String(body.length)) return `length ${headers["content-length"]}`;
  if (!/^overdue-(?:run|exec)\/\S+$/.test(headers["user-agent"] ?? ""))
    return `user agent ${headers["user-agent"]}`;
  return rid === null || RID.test(rid) ? null : `rid ${rid}`;
}
