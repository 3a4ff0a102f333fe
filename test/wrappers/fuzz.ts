// Random flags, environments, arguments and inputs: the job runs exactly once, with its arguments, input and exit code.
import { randomUUID } from "node:crypto";
import { codeOf, inParallel, type Result } from "./run-cases.ts";
import { NETWORKS, type Servers } from "./servers.ts";
import { endGroup, newFolder, runCount, start, type Wrapper } from "./wrapper.ts";

/** A generator of whole numbers below a bound, the same for the same seed. */
export function randomOf(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const TEXTS = [
  "",
  " ",
  "a b",
  "x\ny",
  "'",
  '"',
  "\\",
  "$(id)",
  "`id`",
  "*",
  "-",
  "--x",
  "é",
  "=",
  "%00",
  ";",
  "&",
  "0",
  "false",
];
const VALUED = [
  "slug",
  "ping-key",
  "uuid",
  "api-url",
  "name",
  "tag",
  "schedule",
  "tz",
  "period",
  "grace",
  "ping-body-limit",
  "api-timeout",
  "api-retries",
  "on-success",
  "on-nonzero-exit",
  "req-header",
];
const PLAIN = [
  "create",
  "no-start-ping",
  "no-output-in-ping",
  "no-run-id",
  "quiet",
  "silent",
  "bogus",
  "v",
  "merge",
];
const NAMES = [
  "HC_API_URL",
  "PING_KEY",
  "HC_PING_KEY",
  "CHECK_SLUG",
  "CHECK_UUID",
  "TMPDIR",
  "HOME",
  "PATH",
  "IFS",
  "ENV",
  "PS4",
  "CDPATH",
  "OVERDUE_QUEUE",
  "POSIXLY_CORRECT",
  "status",
  "od_job",
  "od_dir",
  "od_got",
  "http_proxy",
  "PING_BODY_LIMIT",
  "NODE_ENV",
];
const VALUES = [
  ...TEXTS,
  "file:",
  "file:/no/such/file",
  "file:/etc/hostname",
  "/no/such/folder",
  "/etc/passwd",
  "/dev/null",
  "http://",
  "http://127.0.0.1:1",
  "ftp://x",
  "1e9",
  "-1",
  "99999999999999999999",
];
const SHELL_OPTIONS = ["errexit", "nounset", "noclobber", "noglob", "allexport", "errexit:nounset:pipefail"];

type Fuzzed = {
  flags: string[];
  environment: Record<string, string>;
  args: string[];
  input: string;
  code: number;
};

function fuzzed(random: (below: number) => number): Fuzzed {
  const of = <T>(items: readonly T[]): T => items[random(items.length)] as T;
  const many = <T>(max: number, make: () => T): T[] => Array.from({ length: random(max + 1) }, make);
  const dash = () => of(["-", "--"]);
  const flag = (): string[] => {
    if (random(3) === 0) return [`${dash()}${of(PLAIN)}${of(["", "", "=true", "=false", "=", "=x"])}`];
    const [name, value] = [`${dash()}${of(VALUED)}`, of(VALUES)];
    // After an unknown flag, a word that is not a flag may be its value.
    return random(2) === 0 ? [`${name}=${value}`] : [name, value];
  };
  const environment = Object.fromEntries(many(6, () => [of(NAMES), of(VALUES)]));
  if (random(4) === 0) environment["SHELLOPTS"] = of(SHELL_OPTIONS);
  return {
    flags: many(5, flag).flat(),
    environment,
    args: many(5, () => of(TEXTS)),
    input: of(["", "x", "a\nb\n"]),
    code: of([0, 0, 1, 2, 3, 42, 100, 124, 125, 126, 127, 128, 129, 143, 200, 254, 255]),
  };
}

/** Builtins only, because PATH may be anything. It has no part in the choice of its exit code. */
const JOB =
  'echo run >>"$0"; code=$1; shift; while read -r line; do echo "<$line>"; done; printf "[%s]" "$@"; exit "$code"';
const AT_ONCE = 4;

export type FuzzOptions = { servers: Servers; folder: string; count: number; seed: number };

/** Runs the wrappers in turn. */
export async function fuzzWrappers(
  wrappers: readonly Wrapper[],
  { servers, folder, count, seed }: FuzzOptions,
): Promise<Result[]> {
  const random = randomOf(seed);
  const runs = Array.from({ length: count }, (_, at) => ({
    at,
    wrapper: wrappers[at % wrappers.length] as Wrapper,
    network: NETWORKS.filter((name) => name !== "hole")[random(NETWORKS.length - 1)] ?? "recorder",
    ...fuzzed(random),
  }));
  return inParallel(
    runs,
    AT_ONCE,
    async ({ at, wrapper, network, flags, environment, args, input, code }) => {
      const where = newFolder(folder);
      const own = { ...where.environment, HC_API_URL: servers.url(network), CHECK_UUID: randomUUID() };
      const hurry = wrapper.kind === "exec" ? ["--report-for", "1s"] : [];
      const job = ["/bin/sh", "-c", JOB, where.runs, String(code), ...args];
      const command = [...wrapper.command, ...hurry, ...flags, "--", ...job];
      const started = start(command, { environment: { ...own, ...environment }, input, folder: where.path });
      const ended = await started.ended;
      endGroup(started.child);
      const isHidden = flags.some((flag) => /^--?(?:quiet|silent)/.test(flag));
      const lines = input
        .split("\n")
        .slice(0, -1)
        .map((line) => `<${line}>\n`);
      const printed = `${lines.join("")}${args.length === 0 ? "[]" : args.map((one) => `[${one}]`).join("")}`;
      const problems = [
        runCount(where) === 1 ? "" : `ran ${runCount(where)} times`,
        codeOf(ended) === code ? "" : `exit code ${codeOf(ended)} instead of ${code}`,
        isHidden || ended.out === printed
          ? ""
          : `stdout ${JSON.stringify(ended.out)} instead of ${JSON.stringify(printed)}`,
      ].filter((text) => text !== "");
      const shown = `${JSON.stringify(flags)} ${JSON.stringify(environment)} stderr ${JSON.stringify(ended.err.slice(0, 300))}`;
      return {
        case: `fuzz ${at} of seed ${seed}`,
        wrapper: wrapper.name,
        problem: problems.length === 0 ? null : `${problems.join("; ")}: ${shown}`,
      };
    },
  );
}
