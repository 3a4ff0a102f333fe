// Replays what the reference server was seen to answer to pings against the real ping process. What the cases ask of
// the Management API is done by its operations until it is served; see operations-under-test.ts.
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Database, openDatabase } from "../../src/store/db.ts";
import { freePort, type PingProcess, startPingProcess } from "../support/ping-process.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { embeddedPostgres } from "../support/postgres-binaries.ts";
import { loadTopics } from "./case-file.ts";
import { httpServerUnderTest } from "./http-server-under-test.ts";
import { OperationsUnderTest } from "./operations-under-test.ts";
import { replay, reportLines, type ServerUnderTest } from "./replay.ts";

const TOPICS = ["ping-body-and-filters", "ping-body", "ping-slug", "ping-uuid"];
/** Steps of these topics that only the Management API can answer: refusals, methods, paths beside the body. */
const SKIPPED_STEPS = 25;
/** It takes four seconds; a busy machine may need many times that. */
const REPLAY_MS_MAX = 120_000;

let postgres: PostgresServer | undefined;
let pings: PingProcess | undefined;
let database: Database | undefined;

beforeAll(async () => {
  // The process refuses a server that does not keep its promises.
  postgres = await startPostgres({ binaries: embeddedPostgres() });
  const url = postgres.url();
  pings = await startPingProcess({ databaseUrl: url, port: await freePort() });
  database = openDatabase({ url, applicationName: "overdue-test", onError: () => {} });
});

afterAll(async () => {
  await database?.close();
  await pings?.stop();
  await postgres?.stop();
});

test(
  "Every recorded answer to a ping, and what it leads to, is ours too",
  async () => {
    if (pings === undefined || database === undefined) throw new Error("the server under test is not there");
    const site = `http://127.0.0.1:${pings.port}`;
    const http = httpServerUnderTest(site);
    const operations = new OperationsUnderTest({ database, site });
    const server: ServerUnderTest = {
      site,
      newProject: (setup) => operations.newProject(setup),
      answer: async (what) =>
        what.path.startsWith("/api/")
          ? operations.answer(what)
          : { answer: await http.send(what), completeness: "complete" },
    };
    const topics = loadTopics().filter(({ topic }) => TOPICS.includes(topic));
    const report = await replay(topics, server);
    http.close();
    const lines = reportLines(report);
    console.log(lines.at(-1));
    expect(topics.map(({ topic }) => topic)).toEqual(TOPICS);
    expect(report.failures, lines.join("\n")).toEqual([]);
    const skipped = [...report.topics.values()].reduce((sum, tally) => sum + tally.skipped, 0);
    expect(skipped, "steps that nobody could answer").toBe(SKIPPED_STEPS);
  },
  REPLAY_MS_MAX,
);
