// Where dead code is looked for, and what is used although no import says so.
import type { KnipConfig } from "knip";

/** `knip --production` reports what only tests use. An export for a test of code that the file itself uses is fine. */
const isProduction = process.argv.includes("--production");

/** The entry points of tests, which `--production` leaves out. */
const TEST_ENTRIES = [
  "test/cli/block-event-loop.ts",
  "test/smtp/crowd-process.ts",
  "test/support/set-up-*.ts",
  "test/mail/take-pictures.ts",
  "test/clients/drivers/*.ts",
  "test/receivers/kinds/*.ts",
];

/** Without `--production`, knip finds these in package.json and in the configuration of the bundler. */
const PROGRAMS = [
  "src/main.ts!",
  "web/main.tsx!",
  "web/service-worker.ts!",
  "bench/main.ts!",
  "fuzz/main.ts!",
];

const config: KnipConfig = {
  entry: [
    ...TEST_ENTRIES,
    ...(isProduction ? PROGRAMS : []),
    "src/client/client.ts!",
    // Loaded as threads or workers.
    "src/intake/spool-thread.ts!",
    "src/lib/watchdog-thread.ts!",
    "web/live/live-worker.ts!",
    // The bundler puts it in the place of a package.
    "web/ui/scroll-lock.tsx!",
    "docs/.vitepress/config.ts!",
    "docs/.vitepress/theme/index.ts!",
    // Programs for developers.
    "scripts/*.ts!",
    "bench/{api,ping}/answering-only.ts!",
    "bench/api/bare-sql.ts!",
    "bench/compare-checkouts.ts!",
    "bench/log/append-only.ts!",
    "bench/smtp/{bare-server,load-process}.ts!",
    "bench/status/static-server.ts!",
  ],
  project: [
    "src/**/*.ts!",
    "web/**/*.{ts,tsx}!",
    "test/**/*.ts",
    "bench/**/*.ts!",
    "fuzz/**/*.ts!",
    "scripts/**/*.ts!",
    "docs/.vitepress/**/*.ts!",
  ],
  // A type may be exported with the function that takes it before another file uses it.
  ignoreExportsUsedInFile: isProduction || { interface: true, type: true },
  // Debian programs: tests that need one of these and do not find it are skipped and say so.
  ignoreBinaries: [
    "strace",
    "java",
    "mount",
    "umount",
    "mkfifo",
    "openssl",
    "chromium",
    "unshare",
    "patch",
    "kubectl",
    "fish",
    "script",
    "shellcheck",
  ],
  ignoreDependencies: [
    // scripts/check.ts starts it by its path.
    "cspell",
    // scripts/check.ts starts the first by its path, and the first finds the second.
    "oxlint",
    "oxlint-tsgolint",
  ],
};

export default config;
