// Installs Schemathesis and runs it once against the document that a server serves, with all of its checks enabled.
// Returns its verdict and the responses; prints nothing.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram, runWell } from "../../test/clients/program.ts";

const INSTALLER = join(import.meta.dirname, "install");
const INSTALL_MS_MAX = 20 * 60_000;
/** How many different failures are collected before a round ends. */
const FAILURES_MAX = 20;
const ANSWER_SECONDS_MAX = 30;

const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "unsupported_method",
  "allow_header_conformance",
];

/** How often each status was returned, to requests that the document allows and to others. */
export type Counts = Readonly<Record<string, { valid: number; broken: number }>>;

export type Round = {
  isGood: boolean;
  /** By operation. */
  answers: Readonly<Record<string, Counts>>;
  /** Its output, or the end of it: which responses are wrong and why. */
  said: string;
};

/** The configuration for a document. */
export type FuzzedDocument = {
  /** The IDs of existing resources, for the hooks; the document is at `<api>/openapi.json`. */
  world: { api: string };
  /** The Python module with the hooks. */
  hooks: string;
  /** Operations that are left out. */
  without: readonly string[];
};

export type RoundOptions = FuzzedDocument & {
  seed: number;
  /** The maximum number of generated requests for each operation. */
  examples: number;
  /** In the first round the examples and boundaries of the document are tested, too. */
  isFirst: boolean;
  msMax: number;
};

/** Installs it if necessary, and returns the path of its program. */
export async function installSchemathesis(say: (line: string) => void): Promise<string> {
  const folder = (await runWell("sh", [INSTALLER, "--where"])).trim();
  const { code } = await runProgram("sh", [INSTALLER], { msMax: INSTALL_MS_MAX, onLine: say });
  if (code !== 0) throw new Error(`Schemathesis could not be installed in ${folder}`);
  return join(folder, "python/bin/schemathesis");
}

/** Runs it until it ends. */
export async function runSchemathesis(program: string, options: RoundOptions): Promise<Round> {
  const { world, hooks, seed, msMax } = options;
  const folder = mkdtempSync(join(tmpdir(), "overdue-fuzz-"));
  const clear = () => rmSync(folder, { recursive: true, force: true });
  // When interrupted, this process ends without returning here.
  process.once("exit", clear);
  try {
    const worldFile = join(folder, "world.json");
    const answersFile = join(folder, "answers.json");
    writeFileSync(worldFile, JSON.stringify({ ...world, seed }));
    const { code, out, err } = await runProgram(program, argumentsFor(options), {
      folder,
      msMax,
      environment: {
        SCHEMATHESIS_HOOKS: hooks,
        PYTHONPATH: import.meta.dirname,
        PYTHONDONTWRITEBYTECODE: "1",
        OVERDUE_FUZZ_WORLD: worldFile,
        OVERDUE_FUZZ_ANSWERS: answersFile,
      },
    });
    const answersText = existsSync(answersFile) ? readFileSync(answersFile, "utf8") : "{}";
    const answers = JSON.parse(answersText) as Round["answers"];
    return { isGood: code === 0, answers, said: `${out}\n${err}`.trim() };
  } finally {
    process.off("exit", clear);
    clear();
  }
}

function argumentsFor({ world, without, seed, examples, isFirst }: RoundOptions): string[] {
  const phases = isFirst ? ["examples", "coverage", "fuzzing", "stateful"] : ["fuzzing", "stateful"];
  const named = {
    "--checks": CHECKS,
    "--phases": phases,
    "--max-examples": [String(examples)],
    "--seed": [String(seed)],
    "--max-failures": [String(FAILURES_MAX)],
    "--request-timeout": [String(ANSWER_SECONDS_MAX)],
    // Nothing is kept from run to run.
    "--generation-database": ["none"],
    "--suppress-health-check": ["all"],
    "--warnings": ["off"],
  };
  const excluded = without.flatMap((operation) => ["--exclude-operation-id", operation]);
  const options = Object.entries(named).flatMap(([name, values]) => [name, values.join(",")]);
  return ["run", `${world.api}/openapi.json`, ...options, ...excluded, "--no-shrink", "--no-color"];
}
