// A short fault run with a log, part of every check: acknowledged pings are recorded as often as the topic has them, and
// a planted violation is detected.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { KafkaCluster } from "../support/kafka-cluster.ts";
import { embeddedPostgres } from "../support/postgres-binaries.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { canRunLog, LOG_NEEDS, type LogStage, onLogStage } from "./log/log-stage.ts";
import { playAppliedTwice, playLogBriefly, playUnconfirmed } from "./scenarios/log/brief.ts";
import type { Verdict } from "./signals/verdict.ts";
import { tinyRun } from "./tiny-run.ts";

const CHECKS = 8;
/** A time limit; a quiet machine needs a tenth of it. */
const TIMEOUT_MS = 600_000;

type Given = { name: string; planted?: string; edges?: number; parts: (log: LogStage) => Promise<Verdict> };

describe.skipIf(!canRunLog)(
  `a log under faults${canRunLog ? "" : ` (${LOG_NEEDS})`}`,
  { timeout: TIMEOUT_MS },
  () => {
    let postgres: PostgresServer;
    let cluster: KafkaCluster;
    beforeAll(async () => {
      [postgres, cluster] = await Promise.all([
        startPostgres({ binaries: embeddedPostgres() }),
        KafkaCluster.start(),
      ]);
    }, TIMEOUT_MS);
    afterAll(async () => {
      await cluster.stop();
      await postgres.stop();
    }, TIMEOUT_MS);

    function play({ name, planted, edges = 1, parts }: Given): Promise<Verdict> {
      const shared = { postgres, database: name };
      const own = { edges, recorders: 1, hasAlerts: false, checks: CHECKS };
      const options = { ...own, brokers: 1, partitions: 2, topic: name, cluster, shared } as const;
      return onLogStage(tinyRun(planted), options, parts);
    }

    test("what was acknowledged is there as often as in the topic, and nothing else", async () => {
      const { tally, gaps, complaints } = await play({ name: "honest", edges: 2, parts: playLogBriefly });
      expect(complaints).toEqual([]);
      expect({ ...tally, gaps }).toMatchObject({ lost: 0, duplicated: 0, gaps: 0 });
      expect(tally.acknowledged).toBeGreaterThanOrEqual(3 * CHECKS);
    });

    test("a planted answer before the log confirms is seen as lost", async () => {
      const { tally } = await play({ name: "early", planted: "confirm-first", parts: playUnconfirmed });
      expect(tally.lost).toBeGreaterThan(0);
    });

    test("a planted position that is not stored is seen as duplicated", async () => {
      const { tally } = await play({ name: "twice", planted: "position-apart", parts: playAppliedTwice });
      expect(tally.duplicated).toBeGreaterThan(0);
    });
  },
);
