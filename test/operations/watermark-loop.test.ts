// The clock of processes that receive no pings.
import { setTimeout as pause } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { createLog } from "../../src/lib/log.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { watermarkLoop } from "../../src/operations/watermark-loop.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { useDatabase } from "../support/database.ts";

const SLOW_MS = 2_000;

const database = useDatabase();

test("a slow read does not set the clock back", async () => {
  const query = database.db.query.bind(database.db);
  vi.spyOn(database.db, "query").mockImplementation(async (statement, values) => {
    const result = await query(statement, values);
    if (statement.name !== "instance.ask") await pause(SLOW_MS);
    return result;
  });
  const log = createLog({ level: "fatal" });
  const loop = watermarkLoop("test", {
    database: database.db,
    log,
    metrics: createMetrics({ version: "0" }).loops,
  });
  const unread = loop.visibility();
  await loop.start();
  try {
    await expect.poll(() => loop.visibility()).not.toBe(unread);
    const before = loop.now();
    expect((await readDatabaseClock(database.db)) - before).toBeLessThan(SLOW_MS / 2);
  } finally {
    await loop.stop();
    vi.restoreAllMocks();
  }
});
