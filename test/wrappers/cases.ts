// The cases: a job, how it is wrapped, and what must come out of it. The same table for every wrapper.
import type { Network } from "./servers.ts";

export type Case = {
  name: string;
  /** Commands for sh. `$RUNS` is where the job notes that it has begun. */
  job: string;
  /** Arguments of the job. */
  args?: readonly string[];
  /** Instead of sh with the commands. */
  command?: readonly string[];
  flags?: readonly string[];
  /** `DIR` is the folder of the run. */
  environment?: Readonly<Record<string, string>>;
  /** Commands for sh that start the wrapper, which are its arguments. */
  around?: string;
  input?: string;
  network?: Network;
  /** Sent to the wrapper when the job has printed this. */
  signal?: { name: NodeJS.Signals; after: string; toGroup?: true };
  /** The exit code; 128 + n also for a wrapper that ends with the signal n. */
  code: number;
  out?: string;
  /** Exactly, of the job and the wrapper. */
  err?: string | RegExp;
  /** The pings that are expected, in order, by the end of their path; false: it does not matter. */
  pings?: readonly string[] | false;
  /** Of the last ping. */
  body?: string | RegExp;
  /** Of the first ping, decoded. */
  query?: Readonly<Record<string, string>>;
  /** Of a job that never begins. */
  runs?: number;
  secondsMax?: number;
  /** Wrappers that it is not for, each with the reason. */
  not?: { run?: string; exec?: string };
  isSlow?: true;
};

const BEGIN = 'echo run >>"$RUNS";';
const BOTH = ["start", "0"];
const NONE: readonly string[] = [];
const noted = /^(?:overdue(?:-run)?(?: exec)?: .*\n)+$/;

/** Longer than the limits of the server and of the wrappers. */
const LONG = 'i=0; while [ $i -lt 30000 ]; do echo "line $i"; i=$((i + 1)); done';
const LONG_OUTPUT = Array.from({ length: 30_000 }, (_, at) => `line ${at}\n`).join("");

export const CASES: readonly Case[] = [
  { name: "a job that succeeds", job: `${BEGIN} echo out`, code: 0, out: "out\n", err: "", pings: BOTH, body: "out\n" },
  { name: "a job that fails", job: `${BEGIN} echo out; exit 3`, code: 3, out: "out\n", err: "", pings: ["start", "3"], body: "out\n" },
  { name: "exit code 255", job: `${BEGIN} exit 255`, code: 255, out: "", err: "", pings: ["start", "255"], body: "" },
  { name: "stderr stays apart", job: `${BEGIN} echo out; echo err >&2`, code: 0, out: "out\n", err: "err\n", pings: BOTH, body: /^(?:out\nerr\n|err\nout\n)$/ },
  { name: "input is passed on", job: `${BEGIN} cat`, input: "a\nb", code: 0, out: "a\nb", err: "", pings: BOTH, body: "a\nb" },
  { name: "closed input", job: BEGIN, around: '"$@" <&-', code: 0, out: "", err: "", pings: BOTH },
  { name: "closed output", job: `${BEGIN} echo out; echo err >&2`, around: '"$@" >&- 2>&-', code: 0, out: "", err: "", pings: BOTH, not: { exec: "Node opens /dev/null for closed streams: the result is the same" } },
  { name: "arguments with spaces, newlines and nothing", job: `${BEGIN} printf '[%s]' "$@"`, args: ["a b", "", "c\nd", "*", "$HOME", "--", "-slug", "'\""], code: 0, out: "[a b][][c\nd][*][$HOME][--][-slug]['\"]", err: "", pings: BOTH },
  { name: "bytes that are not text", job: `${BEGIN} printf '\\000\\377\\n'`, code: 0, out: "\u0000\uFFFD\n", err: "", pings: BOTH },
  { name: "a job that prints nothing", job: BEGIN, code: 0, out: "", err: "", pings: BOTH, body: "" },
  { name: "a job that closes its output", job: `${BEGIN} echo out; exec >&- 2>&-; sleep 0.3; exit 4`, code: 4, out: "out\n", err: "", pings: ["start", "4"], body: "out\n" },
  { name: "long output", job: `${BEGIN} ${LONG}`, code: 0, out: LONG_OUTPUT, err: "", pings: BOTH, body: /line 29999\n$/ },
  { name: "a limit of the body", flags: ["-ping-body-limit", "100"], job: `${BEGIN} ${LONG}`, code: 0, out: LONG_OUTPUT, err: "", pings: BOTH, body: /^[\s\S]{20,100}29999\n$/ },
  { name: "no output in the ping", flags: ["-no-output-in-ping"], job: `${BEGIN} echo out`, code: 0, out: "out\n", err: "", pings: BOTH, body: "" },
  { name: "no start ping", flags: ["-no-start-ping"], job: `${BEGIN} echo out`, code: 0, out: "out\n", err: "", pings: ["0"], body: "out\n" },
  { name: "no run ID", flags: ["-no-run-id"], job: BEGIN, code: 0, out: "", err: "", pings: BOTH, query: {} },
  { name: "quiet", flags: ["-quiet"], job: `${BEGIN} echo out; echo err >&2`, code: 0, out: "", err: "err\n", pings: BOTH, body: "err\n" },
  { name: "silent", flags: ["--silent"], job: `${BEGIN} echo out; echo err >&2`, code: 0, out: "", err: "", pings: BOTH, body: "" },
  { name: "a slug and a key in a file", environment: { CHECK_UUID: "", CHECK_SLUG: "nightly", PING_KEY: "file:DIR/key" }, around: `printf 'CHECK\\n' >"$HOME/key"; "$@"`, job: BEGIN, code: 0, out: "", err: "", pings: BOTH },
  {
    name: "settings of a new check",
    environment: { CHECK_UUID: "", CHECK_SLUG: "nightly", HC_PING_KEY: "CHECK" },
    flags: ["-create", "-name", "Nightly & co", "-tag", "a", "-tag=b", "-schedule", "30 2 * * *", "-tz", "Europe/Berlin", "-grace", "1h"],
    job: BEGIN, code: 0, out: "", err: "", pings: BOTH,
    query: { create: "1", name: "Nightly & co", tags: "a b", schedule: "30 2 * * *", tz: "Europe/Berlin", grace: "*" },
  },
  { name: "settings without -create", flags: ["-name", "x"], job: BEGIN, code: 0, out: "", pings: BOTH, query: {}, not: { exec: "tested in test/exec" } },
  { name: "a flag that is false", flags: ["-create=false", "-no-start-ping=false"], job: BEGIN, code: 0, out: "", err: "", pings: BOTH, query: {} },
  { name: "a program that does not exist", command: ["/no/such/program", "a"], job: "", runs: 0, code: 127, out: "", err: /program/, pings: false },
  { name: "a file that cannot be executed", command: ["/etc/passwd"], job: "", runs: 0, code: 126, out: "", err: /./, pings: false },
  { name: "a job that kills itself", job: `${BEGIN} echo out; kill -9 $$`, code: 137, out: "out\n", err: "", pings: ["start", "137"], body: /^out\n/ },
  { name: "a job that dies of SIGSEGV", job: `${BEGIN} kill -SEGV $$`, code: 139, out: "", err: "", pings: ["start", "139"] },
  { name: "TERM is forwarded", job: `${BEGIN} trap 'echo got; exit 5' TERM; echo ready; sleep 9 >&- 2>&- & wait; wait`, signal: { name: "SIGTERM", after: "ready" }, code: 5, out: "ready\ngot\n", err: "", pings: ["start", "5"], body: "ready\ngot\n", secondsMax: 8 },
  { name: "HUP is forwarded", job: `${BEGIN} trap 'echo got; exit 6' HUP; echo ready; sleep 9 >&- 2>&- & wait; wait`, signal: { name: "SIGHUP", after: "ready" }, code: 6, out: "ready\ngot\n", err: "", pings: ["start", "6"], secondsMax: 8 },
  { name: "USR1 is forwarded", job: `${BEGIN} trap 'echo got; exit 7' USR1; echo ready; sleep 9 >&- 2>&- & wait; wait`, signal: { name: "SIGUSR1", after: "ready" }, code: 7, out: "ready\ngot\n", err: "", pings: ["start", "7"], secondsMax: 8 },
  { name: "INT ends the job", job: `${BEGIN} echo ready; exec sleep 9`, signal: { name: "SIGINT", after: "ready" }, code: 143, out: "ready\n", err: "", pings: ["start", "143"], secondsMax: 8, not: { exec: "INT stays INT: tested in test/exec" } },
  { name: "a job that ignores TERM", job: `${BEGIN} trap '' TERM; echo ready; sleep 1; echo done`, signal: { name: "SIGTERM", after: "ready" }, code: 0, out: "ready\ndone\n", err: "", pings: BOTH, body: "ready\ndone\n" },
  { name: "TERM for the process group", job: `${BEGIN} trap 'echo got; exit 5' TERM; echo ready; sleep 9 >&- 2>&- & wait; wait`, signal: { name: "SIGTERM", after: "ready", toGroup: true }, code: 5, err: "", pings: ["start", "5"], secondsMax: 8, not: { exec: "the end is queued at once: tested in test/exec" } },
  { name: "a process that is left running", job: `${BEGIN} sleep 5 & echo out`, code: 0, out: "out\n", err: "", pings: BOTH, secondsMax: 12 },
  { name: "the reader of the output leaves", job: `${BEGIN} i=0; while [ $i -lt 100000 ]; do echo "line $i"; i=$((i + 1)); done`, around: 'set -o pipefail 2>/dev/null; "$@" | head -n 1', code: 141, out: "line 0\n", err: "", pings: false },
  { name: "the temporary folder does not exist", environment: { TMPDIR: "/no/such/folder" }, job: `${BEGIN} echo out`, code: 0, out: "out\n", err: "", pings: BOTH, body: "out\n" },
  { name: "the temporary folder is a file", environment: { TMPDIR: "/etc/passwd" }, job: `${BEGIN} echo out`, code: 0, out: "out\n", err: "", pings: BOTH, body: "out\n" },
  { name: "the temporary folder has a space", environment: { TMPDIR: "DIR/with space" }, around: '/usr/bin/mkdir "$TMPDIR"; "$@"', job: `${BEGIN} echo out`, code: 0, out: "out\n", err: "", pings: BOTH, body: "out\n" },
  { name: "no check", environment: { CHECK_UUID: "" }, job: `${BEGIN} echo out; exit 3`, code: 3, out: "out\n", err: noted, pings: NONE },
  { name: "no URL", environment: { HC_API_URL: "" }, job: `${BEGIN} echo out; exit 3`, code: 3, out: "out\n", err: noted, pings: NONE },
  { name: "a key file that does not exist", environment: { CHECK_UUID: "", CHECK_SLUG: "s", PING_KEY: "file:/no/such/file" }, job: `${BEGIN} exit 3`, code: 3, out: "", err: /./, pings: NONE },
  { name: "an unknown flag", flags: ["-bogus"], job: `${BEGIN} exit 3`, code: 3, out: "", err: noted, pings: ["start", "3"] },
  { name: "an unknown flag with a value", flags: ["--bogus", "value"], job: `${BEGIN} exit 3`, code: 3, out: "", err: noted, pings: ["start", "3"] },
  { name: "flags of runitor", flags: ["-api-timeout", "5s", "-api-retries=2", "-req-header", "X-A: b", "-on-success", "exit-code"], job: `${BEGIN} exit 3`, code: 3, out: "", pings: ["start", "3"] },
  { name: "no curl and no wget", environment: { PATH: "/no/such/folder" }, job: `${BEGIN} echo out; exit 3`, code: 3, out: "out\n", err: noted, pings: NONE, not: { exec: "needs neither" } },
  { name: "only wget", environment: { PATH: "DIR/bin" }, around: `/usr/bin/mkdir "$HOME/bin"; for one in wget timeout tee tail sed tr mkdir mkfifo rm sleep cat printf od; do /usr/bin/ln -s "/usr/bin/$one" "$HOME/bin/$one"; done; "$@"`, job: `${BEGIN} echo out; exit 3`, code: 3, out: "out\n", err: "", pings: ["start", "3"], body: "out\n", not: { exec: "needs none of them" } },
  { name: "only busybox", environment: { PATH: "DIR/bin" }, around: `/usr/bin/mkdir "$HOME/bin"; for one in wget timeout tee tail sed tr mkdir mkfifo rm sleep cat printf od; do /usr/bin/ln -s /usr/bin/busybox "$HOME/bin/$one"; done; "$@"`, job: `${BEGIN} echo out; exit 3`, code: 3, out: "out\n", err: "", pings: ["start", "3"], body: "out\n", not: { exec: "needs none of them" } },
  { name: "no tee", environment: { PATH: "DIR/bin" }, around: `/usr/bin/mkdir "$HOME/bin"; for one in curl sed tr mkdir mkfifo rm sleep tail printf; do /usr/bin/ln -s "/usr/bin/$one" "$HOME/bin/$one"; done; "$@"`, job: `${BEGIN} echo out; exit 3`, code: 3, out: "out\n", err: "", pings: ["start", "3"] },
  { name: "options of the shell in the environment", environment: { SHELLOPTS: "errexit:nounset:noclobber", IFS: "/o", ENV: "/no/such/file", BASH_ENV: "/no/such/file", POSIXLY_CORRECT: "1" }, job: `${BEGIN} echo out`, code: 0, out: "out\n", pings: BOTH, body: "out\n" },
  { name: "variables of the job stay as they are", environment: { od_dir: "mine", dir: "mine", status: "mine", name: "mine", key: "mine" }, job: `${BEGIN} echo "$dir $status $name $key"`, code: 0, out: "mine mine mine mine\n", err: "", pings: BOTH },
  { name: "the name of a function of the wrapper", command: ["od_say", "x"], job: "", runs: 0, code: 127, out: "", err: /od_say/, pings: false },
  { name: "a check that cannot be in a URL", environment: { CHECK_UUID: 'a"b\\ \nc' }, job: `${BEGIN} exit 3`, code: 3, out: "", pings: false },
  { name: "nothing listens", network: "dead", job: `${BEGIN} echo out; exit 3`, code: 3, out: "out\n", err: noted, pings: NONE, secondsMax: 20, isSlow: true },
  { name: "no answer", network: "hole", job: `${BEGIN} echo out; exit 3`, code: 3, out: "out\n", err: noted, pings: false, secondsMax: 21, isSlow: true },
  { name: "HTTP 503", network: "503", job: `${BEGIN} echo out; exit 3`, code: 3, out: "out\n", err: noted, pings: false, secondsMax: 20, isSlow: true },
  { name: "HTTP 404", network: "404", job: `${BEGIN} echo out; exit 3`, code: 3, out: "out\n", err: noted, pings: ["start", "3"], secondsMax: 5 },
  { name: "slow answers", network: "slow", job: `${BEGIN} echo out; exit 3`, code: 3, out: "out\n", err: "", pings: ["start", "3"], secondsMax: 9 },
  { name: "a second attempt", network: "flaky", flags: ["-no-start-ping"], job: `${BEGIN} echo out; exit 3`, code: 3, out: "out\n", err: "", pings: ["3", "3"], body: "out\n", secondsMax: 9 },
  { name: "TERM while nothing answers", network: "hole", flags: ["-no-start-ping"], job: `${BEGIN} trap '' TERM; echo ready; exit 3`, signal: { name: "SIGTERM", after: "ready" }, code: 3, out: "ready\n", err: noted, pings: false, secondsMax: 9 },
];
