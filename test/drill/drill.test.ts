// The short version of `npm run drill`.
import { expect, test } from "vitest";
import { figuresOf, runDrill } from "./drill.ts";

const TEST_MS_MAX = 300_000;

test(
  "a backup under load has every acknowledged ping, and every owed alert is sent once after the restore",
  async () => {
    const result = await runDrill({ healthy: 400, owed: 100, loadMs: 5_000, say: () => {} });
    expect(figuresOf(result)).toMatchObject({
      "drill.missing": 0,
      "drill.owed": 200,
      "drill.delivered_once": 200,
      "drill.false_alarms": 0,
      "drill.sent_in_safe_mode": 0,
      "drill.refused": 0,
    });
    expect(result.inBackup).toBeGreaterThan(1_000);
    // Pings after the backup are not in it, and not lost by it.
    expect(result.acknowledged).toBeGreaterThan(result.inBackup);
  },
  TEST_MS_MAX,
);
