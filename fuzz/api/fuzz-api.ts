// Fuzzes the Management API or the Overdue API of the real program by the OpenAPI document that it serves: Schemathesis
// generates valid and invalid requests from it, and compares every response with it. In rounds, until there were enough
// requests.
import type { RouteDefinition } from "../../src/contract/api/route.ts";
import { API_ROUTES } from "../../src/contract/api/routes.ts";
import { ROUTES } from "../../src/contract/routes.ts";
import { type ServerUnderTest, startServerUnderTest } from "../../test/conformance/server-under-test.ts";
import { embeddedPostgres } from "../../test/support/postgres-binaries.ts";
import { startPostgres } from "../../test/support/postgres.ts";
import { ENDING_OPERATIONS, makeOverdueWorld } from "./overdue-world.ts";
import { type FuzzedDocument, installSchemathesis, runSchemathesis } from "./schemathesis.ts";
import { Tally } from "./tally.ts";
import { makeWorld } from "./world.ts";

export type ApiFuzzOptions = {
  of: "management" | "overdue";
  seed: number;
  requests: number;
  minutesMax?: number;
};

type Fuzzed = FuzzedDocument & {
  operations: number;
  /** Operations of which a request has to succeed. */
  succeeding: readonly string[];
};

async function fuzzedDocument(of: ApiFuzzOptions["of"], server: ServerUnderTest): Promise<Fuzzed> {
  if (of === "management") {
    const succeeding = ROUTES.map(({ endpoint }) => endpoint);
    const operations = succeeding.length;
    return { world: await makeWorld(server), hooks: "hooks", without: [], operations, succeeding };
  }
  const routes = Object.entries<RouteDefinition>(API_ROUTES);
  // A stream does not end.
  const without = routes.flatMap(([id, { success }]) => (success.type === "text/event-stream" ? [id] : []));
  const isReadable = ([id, { method, path }]: (typeof routes)[number]) =>
    method === "GET" && !path.includes("{") && !without.includes(id) && !ENDING_OPERATIONS.includes(id);
  return {
    world: await makeOverdueWorld(server),
    hooks: "hooks_overdue",
    without,
    operations: routes.length - without.length,
    succeeding: routes.filter(isReadable).map(([id]) => id),
  };
}

const MINUTES_MAX = 120;
/** A round with fewer requests than this is not repeated: something is wrong with it. */
const ROUND_REQUESTS_MIN = 50;
const EXAMPLES_MIN = 5;
/** Few enough for many seeds, many enough that the start-up cost is small. */
const EXAMPLES_MAX = 60;
const SEED_END = 2 ** 31;
/** One key sends all requests, as fast as it can; rate limits are tested elsewhere. */
const SETTINGS = { OVERDUE_API_RATE_LIMIT: "1000000" };

/** Prints the distribution of responses and a verdict; true when nothing is wrong. */
export async function fuzzApi({
  of,
  seed,
  requests,
  minutesMax = MINUTES_MAX,
}: ApiFuzzOptions): Promise<boolean> {
  console.log(`fuzz ${of} api: seed ${seed}, at least ${requests} requests`);
  const begin = performance.now();
  const program = await installSchemathesis((line) => console.log(line));
  const endsAt = performance.now() + minutesMax * 60_000;
  const postgres = await startPostgres({ binaries: embeddedPostgres() });
  let server: ServerUnderTest | undefined;
  try {
    server = await startServerUnderTest({ postgres, dialect: "standard", settings: SETTINGS });
    const document = await fuzzedDocument(of, server);
    const tally = new Tally();
    const complaints = await fuzzInRounds({ document, program, tally }, { seed, requests, endsAt });
    complaints.push(...tally.complaints(document.succeeding));
    if (server.end() !== null) complaints.push(`the server ended: ${server.end()}`);
    if (complaints.length > 0) complaints.push(`the end of the server's log:\n${server.said()}`);
    return verdict(tally, { complaints, seconds: (performance.now() - begin) / 1_000 });
  } finally {
    if (server?.end() === null) await server.stop();
    await postgres.stop();
  }
}

type Means = { document: Fuzzed; program: string; tally: Tally };

/** Continues until there were enough requests, an error was found, or the time is over; returns the errors. */
async function fuzzInRounds(
  { document, program, tally }: Means,
  { seed, requests, endsAt }: { seed: number; requests: number; endsAt: number },
): Promise<string[]> {
  for (let number = 0; ; number++) {
    const sent = tally.totals().requests;
    if (sent >= requests) return [];
    const msMax = Math.ceil(endsAt - performance.now());
    if (msMax <= 0) return [`not done in time: ${sent} of ${requests} requests`];
    const round = await runSchemathesis(program, {
      ...document,
      seed: (seed + number) % SEED_END,
      examples: Math.min(
        EXAMPLES_MAX,
        Math.max(EXAMPLES_MIN, Math.ceil((requests - sent) / document.operations)),
      ),
      isFirst: number === 0,
      msMax,
    });
    tally.add(round.answers);
    const { requests: total, good } = tally.totals();
    console.log(`round ${number + 1}: ${total} requests so far, ${good} answered 2xx`);
    if (!round.isGood) return [`the round with seed ${(seed + number) % SEED_END} failed:\n${round.said}`];
    if (total - sent < ROUND_REQUESTS_MIN)
      return [`a round of only ${total - sent} requests:\n${round.said}`];
  }
}

function verdict(
  tally: Tally,
  { complaints, seconds }: { complaints: readonly string[]; seconds: number },
): boolean {
  const { requests, valid, good } = tally.totals();
  console.log(`\n${tally.table()}\n`);
  for (const complaint of complaints) console.log(complaint);
  const isGood = complaints.length === 0;
  console.log(
    `fuzz api: ${requests} requests in ${seconds.toFixed(0)} s, ${valid} by the document, ${good} answered 2xx, ` +
      (isGood ? "no 5xx, no undocumented status, no schema violation, ok" : "FAILED"),
  );
  return isGood;
}
