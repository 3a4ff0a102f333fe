import { expect, test } from "vitest";
import { loadConfig } from "../config/config.ts";
import { needsDatabaseToReceive } from "./started-intake.ts";

test("only a spool without a log receives pings before the database is available", () => {
  const { logTopic } = loadConfig({ OVERDUE_LOG: "kafka://kafka:9092/overdue" }).config;
  expect(needsDatabaseToReceive({ spoolFolder: "/tmp/spool", logTopic: null })).toBe(false);
  expect(needsDatabaseToReceive({ spoolFolder: null, logTopic: null })).toBe(true);
  expect(needsDatabaseToReceive({ spoolFolder: "/tmp/spool", logTopic })).toBe(true);
});
