// A short fault run, part of every check: acknowledged signals are recorded once, and a planted violation is
// detected. The three share a server and run concurrently, because each of them mostly waits.
import { afterAll, beforeAll, describe, test } from "vitest";
import { embeddedPostgres } from "../support/postgres-binaries.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { playAppliedTwice, playBriefly, playSilence } from "./scenarios/brief.ts";
import type { Verdict } from "./signals/verdict.ts";
import { onStage, type Stage } from "./stage/stage.ts";
import { tinyRun } from "./tiny-run.ts";

const CHECKS = 8;
/** A time limit; a quiet machine needs a tenth of it. */
const TIMEOUT_MS = 600_000;

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await startPostgres({ binaries: embeddedPostgres() });
}, TIMEOUT_MS);
afterAll(() => postgres.stop(), TIMEOUT_MS);

type Given = { database: string; planted?: string; parts: (stage: Stage) => Promise<Verdict> };

function play({ database, planted, parts }: Given): Promise<Verdict> {
  return onStage(tinyRun(planted), { checks: CHECKS, shared: { postgres, database } }, parts);
}

describe.concurrent("under faults", { timeout: TIMEOUT_MS }, () => {
  test("what was acknowledged is there once, and nothing else", async ({ expect }) => {
    const { tally, complaints } = await play({ database: "honest", parts: playBriefly });
    expect(complaints).toEqual([]);
    expect(tally).toMatchObject({ lost: 0, duplicated: 0 });
    // At least the pings that made the checks known to the two processes.
    expect(tally.acknowledged).toBeGreaterThanOrEqual(2 * CHECKS);
  });

  test("a planted answer before the commit is seen as lost", async ({ expect }) => {
    const { tally } = await play({ database: "early", planted: "answer-first", parts: playSilence });
    expect(tally.lost).toBeGreaterThan(0);
  });

  test("a planted replay without a look at the number is seen as duplicated", async ({ expect }) => {
    const planted = "unnumbered-replay";
    const { tally } = await play({ database: "twice", planted, parts: playAppliedTwice });
    expect(tally.duplicated).toBeGreaterThan(0);
  });
});
