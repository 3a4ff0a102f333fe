// The documentation names as many database connections as a process opens.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { EXTRA_CONNECTIONS } from "../src/cli/doctor.ts";
import { SETTINGS } from "../src/config/settings.ts";
import { INTAKE_CONNECTIONS_MAX } from "../src/roles/direct-intake.ts";
import { RECORDER_CONNECTIONS_MAX } from "../src/roles/recorder.ts";
import { LOOKUP_CONNECTIONS_MAX } from "../src/roles/started-intake.ts";
import { SWEEPER_CONNECTIONS_MAX } from "../src/roles/sweeper.ts";

test("the documented number of database connections is the number that can be open", () => {
  const pool = SETTINGS.databasePoolSize.fallback;
  const receiving = INTAKE_CONNECTIONS_MAX + LOOKUP_CONNECTIONS_MAX;
  const all = pool + receiving + SWEEPER_CONNECTIONS_MAX;
  const operating = readFileSync(new URL("../docs/operate/operating.md", import.meta.url), "utf8");
  expect(operating).toContain(
    `| ${all}: ${pool} in the shared pool, ${receiving} more for the roles \`ping\` and \`smtp\` together, ${SWEEPER_CONNECTIONS_MAX} more for the role \`sweeper\`. With a [log](log.md), ${RECORDER_CONNECTIONS_MAX} more for the role \`recorder\` |`,
  );
  expect(EXTRA_CONNECTIONS).toEqual({
    receiving,
    sweeper: SWEEPER_CONNECTIONS_MAX,
    recorder: RECORDER_CONNECTIONS_MAX,
  });
  const { meaning } = SETTINGS.databasePoolSize;
  expect(meaning).toContain(`up to ${receiving} more connections`);
  expect(meaning).toContain(
    `up to ${SWEEPER_CONNECTIONS_MAX}. With the default, a process that runs all roles opens up to ${all} connections`,
  );
});
