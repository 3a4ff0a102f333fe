// The conformance run: `npm run conformance -- --only flips`. It replays the recorded cases against the real program
// in both dialects, or serves that program for other tools to do so.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { startPostgres } from "../support/postgres.ts";
import { embeddedPostgres } from "../support/postgres-binaries.ts";
import { loadTopics, type Topic } from "./case-file.ts";
import { type Dialect, DIALECTS } from "./dialects.ts";
import { type CaseProject, needsOf } from "./projects.ts";
import type { Report } from "./replay.ts";
import { reportLines, reportObject, writeResults } from "./report.ts";
import { chooseTopics, replayDialect, SLOW } from "./run.ts";
import { startServerUnderTest } from "./server-under-test.ts";

const HELP = `Usage: npm run conformance -- [options]

Starts a PostgreSQL and the program on loopback, makes the projects that the recorded cases of
test/conformance/cases need, replays every case in each dialect and compares every answer.

Options:
  --only TOPIC     only this topic: ${chooseTopics({ only: null, text: "" })
    .map(({ topic }) => topic)
    .join(", ")}
  --case TEXT      only cases whose name contains the text
  --dialect NAME   only one dialect: ${DIALECTS.join(", ")}
  --json           end with one line of JSON: for each dialect the counts, topics and failures
  --serve FILE     do not replay: start the program in one dialect (${DIALECTS[0]} unless --dialect says
                   otherwise), write the projects that all cases need to FILE, print the address of the
                   site and those of the mail server and its domain, and stay until interrupted
  --help           this text

Replayed only when --only names it: ${Object.entries(SLOW)
  .map(([topic, why]) => `${topic} (${why})`)
  .join(", ")}.
The exit code is 1 when a step failed.`;

const USAGE = 2;
const INTERRUPTED = 130;

type Choice = {
  help: boolean;
  json: boolean;
  serveFile: string | null;
  topics: readonly Topic[];
  dialects: readonly Dialect[];
  /** Nothing is left out that could be replayed. */
  isWhole: boolean;
};

async function main(args: readonly string[]): Promise<number> {
  const choice = readArguments(args);
  if (typeof choice === "string") {
    console.error(`${choice}\n\n${HELP}`);
    return USAGE;
  }
  if (choice.help) {
    console.log(HELP);
    return 0;
  }
  if (choice.serveFile === null) return replayAll(choice);
  const [dialect] = choice.dialects;
  return serve(choice.serveFile, { topics: choice.topics, dialect: dialect ?? DIALECTS[0] });
}

async function replayAll({ topics, dialects, json, isWhole }: Choice): Promise<number> {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    // What was started here ends with this process.
    process.once(signal, () => process.exit(INTERRUPTED));
  }
  const postgres = await startPostgres({ binaries: embeddedPostgres() });
  try {
    const reports: Report[] = [];
    for (const dialect of dialects) {
      const report = await replayDialect(topics, { postgres, dialect });
      console.log(reportLines(report).join("\n"));
      reports.push(report);
    }
    if (isWhole) writeResults(reports);
    if (json) {
      const objects = reports.map((report) => [report.dialect, reportObject(report)]);
      console.log(JSON.stringify(Object.fromEntries(objects)));
    }
    return reports.some(({ failures }) => failures.length > 0) ? 1 : 0;
  } finally {
    await postgres.stop();
  }
}

/** Stays until it is interrupted, then stops everything in order. */
async function serve(
  file: string,
  { topics, dialect }: { topics: readonly Topic[]; dialect: Dialect },
): Promise<number> {
  const interrupted = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => resolve());
  });
  const postgres = await startPostgres({ binaries: embeddedPostgres() });
  try {
    const server = await startServerUnderTest({ postgres, dialect });
    try {
      const projects: CaseProject[] = [];
      for (const setup of needsOf(topics)) projects.push(await server.makeProject(setup));
      writeFileSync(file, `${JSON.stringify(projects, null, 1)}\n`);
      const { port, domain } = server.mail;
      console.log(`${server.site}\n127.0.0.1:${port} ${domain}`);
      await interrupted;
    } finally {
      await server.stop();
    }
  } finally {
    await postgres.stop();
  }
  return 0;
}

const OPTIONS = {
  only: { type: "string" },
  case: { type: "string" },
  dialect: { type: "string" },
  serve: { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean" },
} as const;

/** What the arguments ask for, or what is wrong with them. */
function readArguments(args: readonly string[]): Choice | string {
  let values;
  try {
    ({ values } = parseArgs({ args: [...args], options: OPTIONS }));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const { only = null, case: text = "", serve: serveFile = null, json = false, help = false } = values;
  const dialects = DIALECTS.filter((name) => values.dialect === undefined || values.dialect === name);
  if (dialects.length === 0) return `The dialects are ${DIALECTS.join(" and ")}.`;
  // Another tool may want every case that there is.
  const topics =
    serveFile !== null && only === null && text === "" ? loadTopics() : chooseTopics({ only, text });
  if (topics.length === 0) return "There is no such case.";
  const isWhole = only === null && text === "" && dialects.length === DIALECTS.length;
  return { help, json, serveFile, topics, dialects, isWhole };
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
