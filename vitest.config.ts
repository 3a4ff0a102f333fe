// The test projects: rules without I/O, tests on PostgreSQL 18, the SQL again on PostgreSQL 15, and browser tests.
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { COMPILE_CACHE } from "./test/support/compile-cache.ts";

// Upgrades from PostgreSQL 15 to 18, so the other tests of this file need no second run on 18.
const UPGRADES = ["test/operations/restored-database.test.ts"];
const SQL = ["test/store/**/*.test.ts", ...UPGRADES];
const BROWSER = ["test/e2e/**/*.test.ts"];
const WEB = ["web/**/*.test.ts"];
const MOCKS = ["test/management/matrix.test.ts", "test/api/matrix.test.ts"];
const UNIT = [
  "src/**/*.test.ts",
  "test/tidy*.test.ts",
  "test/docs*.test.ts",
  "test/docs/!(samples).test.ts",
  "test/hostile/*.test.ts",
  "test/wrappers/*.test.ts",
  "test/exec/*.test.ts",
];

// Each takes a minute or more: begun last, one of them would run alone at the end.
const SLOW = [
  "hostile-text",
  "restored-database",
  "every-page",
  "snippets",
  "operator-mistakes",
  "serve",
  "trial",
  "receiving",
  "alerts-short",
  "upgrade",
  "drill",
  "wrappers",
].map((name) => `/${name}.test.ts`);

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification) => SLOW.some((name) => moduleId.endsWith(name));
    // oxlint-disable-next-line unicorn/no-array-sort -- It is not an array that is sorted in place.
    const sorted = await super.sort(files);
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))];
  }
}

export default defineConfig({
  // The examples in docs/ import the published client.
  resolve: { alias: { "overdue/client": join(import.meta.dirname, "src/client/client.ts") } },
  test: {
    // Files share the modules that are already loaded in their worker: loading them again for each file took two thirds
    // of the processor time of the unit tests.
    isolate: false,
    // Many tests wait for timers and processes, so more files than cores run at a time.
    maxWorkers: 3,
    env: COMPILE_CACHE,
    sequence: { sequencer: SlowFirst },
    setupFiles: ["test/support/wait-for-processor.ts"],
    // Limits for tests that hang, not for slow ones: the machine may be busy.
    testTimeout: 180_000,
    hookTimeout: 300_000,
    // The default of one second is too short on a busy machine.
    expect: { poll: { timeout: 60_000 } },
    projects: [
      { extends: true, test: { name: "unit", include: UNIT } },
      // These replace modules, so each file needs modules that no other file has loaded.
      {
        extends: true,
        test: { name: "web", include: WEB, isolate: true, setupFiles: ["test/support/set-up-document.ts"] },
      },
      {
        extends: true,
        test: {
          name: "mocks",
          include: MOCKS,
          isolate: true,
          globalSetup: ["test/support/set-up-postgres-18.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "postgres-18",
          include: ["test/**/*.test.ts"],
          exclude: [...UNIT, ...BROWSER, ...UPGRADES, ...MOCKS],
          globalSetup: ["test/support/set-up-postgres-18.ts"],
        },
      },
      {
        extends: true,
        test: { name: "postgres-15", include: SQL, globalSetup: ["test/support/set-up-postgres-15.ts"] },
      },
      {
        extends: true,
        test: {
          name: "e2e",
          include: BROWSER,
          globalSetup: ["test/support/set-up-e2e.ts"],
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
    ],
  },
});
