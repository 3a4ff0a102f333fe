// A short upgrade under load, part of every check; `npm run upgrade` runs the long one.
import { expect, test } from "vitest";
import { runUpgrade } from "./run-upgrade.ts";

const TEST_MS_MAX = 240_000;

test("two processes are replaced by the next version without a refused ping, an error or a loss", {
  timeout: TEST_MS_MAX,
}, async () => {
  const result = await runUpgrade({ pingsPerSecond: 100, phaseMs: 1_500 });
  expect(result.complaints).toEqual([]);
  expect(result).toMatchObject({ refused: 0, serverErrors: 0, apiFailed: 0, lost: 0 });
  expect(result.versions).toEqual(["999.0.0", "999.0.0"]);
  expect(result.pings).toBeGreaterThan(300);
  expect(result.apiRequests).toBeGreaterThan(30);
});
