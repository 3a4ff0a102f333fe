// Short versions of the alert scenarios, part of every check: all notifications are sent, our own downtime causes no
// alert, and a planted violation of either is detected.
import { afterAll, beforeAll, describe, test } from "vitest";
import { embeddedPostgres } from "../support/postgres-binaries.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { AlertReceiver } from "./alerts/alert-receiver.ts";
import type { Figures } from "./scenario.ts";
import {
  playDiskBriefly,
  playOwedBriefly,
  playReceivingBriefly,
  playStoppedBriefly,
  playSweeperBriefly,
  playUnansweredBriefly,
  playUntakenBriefly,
} from "./scenarios/alerts-brief.ts";
import { onStage, type Stage } from "./stage/stage.ts";
import { tinyRun } from "./tiny-run.ts";

/** A time limit; a quiet machine needs a tenth of it. */
const TIMEOUT_MS = 600_000;

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await startPostgres({ binaries: embeddedPostgres() });
}, TIMEOUT_MS);
afterAll(() => postgres.stop(), TIMEOUT_MS);

type Given = {
  database: string;
  planted?: string;
  parts: (stage: Stage, receiver: AlertReceiver) => Promise<Figures>;
};

async function play({ database, planted, parts }: Given): Promise<Figures> {
  const receiver = await AlertReceiver.start();
  try {
    return await onStage(tinyRun(planted), { checks: 0, shared: { postgres, database } }, (stage) =>
      parts(stage, receiver),
    );
  } finally {
    await receiver.stop();
  }
}

// Some run concurrently, because each of them mostly waits.
describe.concurrent("alerts that are owed", { timeout: TIMEOUT_MS }, () => {
  test("every notification is sent in the end, whichever process was killed with it", async ({ expect }) => {
    const found = await play({ database: "owed", parts: playOwedBriefly });
    expect(found).toMatchObject({ lost: 0, duplicated: 0 });
    expect(found["repeated"]).toBeGreaterThan(0);
  });

  test("a planted message that counts as sent too early is seen as lost", async ({ expect }) => {
    const found = await play({ database: "early", planted: "settled-first", parts: playUntakenBriefly });
    expect(found["lost"]).toBeGreaterThan(0);
  });

  test("a planted key for each try is seen as duplicated", async ({ expect }) => {
    const found = await play({ database: "keys", planted: "fresh-key", parts: playUnansweredBriefly });
    expect(found["duplicated"]).toBeGreaterThan(0);
  });
});

describe.concurrent("after an absence of ours", { timeout: TIMEOUT_MS }, () => {
  test("ten minutes without any process cause no alert, and checks without a ping are in a notice", async ({
    expect,
  }) => {
    expect(await play({ database: "stopped", parts: playStoppedBriefly })).toMatchObject({
      false_alarms: 0,
      unnoticed: 0,
      noticed_late: 0,
      misnamed: 0,
      notices: 2,
      lost: 0,
      duplicated: 0,
    });
  });

  test("a planted blind interval that excuses nothing is detected as false alerts", async ({ expect }) => {
    const found = await play({ database: "unexcused", planted: "no-excuse", parts: playStoppedBriefly });
    expect(found["false_alarms"]).toBeGreaterThan(0);
  });

  test("a disk that is lost with its signals causes no alert, and notifies the admin", async ({ expect }) => {
    const found = await play({ database: "disk", parts: playDiskBriefly });
    expect(found).toMatchObject({ false_alarms: 0, unnoticed: 0, lost: 0 });
    expect(found["admin_notified"]).toBeGreaterThan(0);
  });

  test("a planted loss without a blind interval is detected as false alerts", async ({ expect }) => {
    const found = await play({ database: "unwritten", planted: "loss-unwritten", parts: playDiskBriefly });
    expect(found["false_alarms"]).toBeGreaterThan(0);
  });
});

describe.concurrent("after standing still", { timeout: TIMEOUT_MS }, () => {
  test("a sweeper that was stopped before firing fires only deadlines that still apply, once", async ({
    expect,
  }) => {
    const found = await play({ database: "sweeper", parts: playSweeperBriefly });
    expect(found).toMatchObject({ wrong_flips: 0, false_alarms: 0, lost: 0, duplicated: 0, paused: 3 });
  });

  test("signals in the sockets of a process that stood still are waited for", async ({ expect }) => {
    const found = await play({ database: "sockets", parts: playReceivingBriefly });
    expect(found).toMatchObject({ false_alarms: 0, unnoticed: 0 });
  });

  test("planted code that ignores the watermark is detected as false alerts", async ({ expect }) => {
    const planted = "watermark-ignored";
    const found = await play({ database: "unseen", planted, parts: playReceivingBriefly });
    expect(found["false_alarms"]).toBeGreaterThan(0);
  });
});
