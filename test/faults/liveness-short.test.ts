// Short versions of overload and outages: the process answers /healthz throughout, recovers, and loses nothing it
// acknowledged.
import { afterAll, beforeAll, expect, test } from "vitest";
import { embeddedPostgres } from "../support/postgres-binaries.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { LIVENESS, LIVENESS_CHECKS } from "./scenarios/liveness.ts";
import { onStage } from "./stage/stage.ts";
import { tinyRun } from "./tiny-run.ts";

/** A time limit. */
const TIMEOUT_MS = 600_000;

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await startPostgres({ binaries: embeddedPostgres() });
}, TIMEOUT_MS);
afterAll(() => postgres.stop(), TIMEOUT_MS);

test.each(Object.entries(LIVENESS))(
  "%s",
  async (name, { play }) => {
    const database = name.replaceAll("-", "_");
    const options = { checks: LIVENESS_CHECKS, shared: { postgres, database } };
    const { tally, complaints } = await onStage(tinyRun(), options, play);
    expect(complaints).toEqual([]);
    expect(tally).toMatchObject({ lost: 0, duplicated: 0 });
  },
  TIMEOUT_MS,
);
