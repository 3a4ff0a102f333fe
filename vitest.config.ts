// The test runner's projects: rules without any I/O, and everything that needs a real PostgreSQL, on the
// newest version and, for what speaks SQL, on the oldest one as well; and what people do in a browser. `npm test -- words` filters by path.
import { defineConfig } from "vitest/config";

const SPEAKS_SQL = ["test/store/**/*.test.ts", "test/operations/**/*.test.ts"];
const IN_BROWSER = ["test/e2e/**/*.test.ts"];
const UNIT = [
  "src/**/*.test.ts",
  "web/**/*.test.ts",
  "test/tidy*.test.ts",
  "test/docs*.test.ts",
  "test/hostile/*.test.ts",
];

export default defineConfig({
  test: {
    // Two at a time share the machine with the database they talk to.
    maxWorkers: 2,
    // Bounds for what hangs, not for what is slow: the machine may be busy with other things.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // What is waited for usually comes at once; the usual second is too short for a machine that stutters.
    expect: { poll: { timeout: 20_000 } },
    projects: [
      {
        extends: true,
        test: { name: "unit", include: UNIT, setupFiles: ["test/support/set-up-document.ts"] },
      },
      {
        extends: true,
        test: {
          name: "postgres-18",
          include: ["test/**/*.test.ts"],
          exclude: [...UNIT, ...IN_BROWSER],
          globalSetup: ["test/support/set-up-postgres-18.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "postgres-15",
          include: SPEAKS_SQL,
          globalSetup: ["test/support/set-up-postgres-15.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "e2e",
          include: IN_BROWSER,
          globalSetup: ["test/support/set-up-e2e.ts"],
          // One browser at a time is enough for two cores.
          fileParallelism: false,
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
});
