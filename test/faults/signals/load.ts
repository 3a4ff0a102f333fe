// Starts and controls the load process, and returns its counts.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Guardian } from "../stage/guardian.ts";
import type { FromLoad, LoadCounts, LoadOptions, ToLoad } from "./load-messages.ts";

const PROCESS = fileURLToPath(new URL("./load-process.ts", import.meta.url));
const STOP_MS_MAX = 90_000;

export type Load = {
  /** As of about a second ago. */
  counts(): LoadCounts;
  pace(perSecond: number): void;
  /** Resolves when the result of every sent signal is in the ledger. */
  stop(): Promise<LoadCounts>;
  /** Ends it immediately, if it has not ended. */
  abandon(): void;
};

const NOTHING: LoadCounts = {
  sent: 0,
  acknowledged: 0,
  refused: 0,
  unanswered: 0,
  other: 0,
  leftOut: 0,
  inFlight: 0,
  slowestMs: 0,
};

/** The load begins immediately. */
export function startLoad(options: LoadOptions, guardian: Guardian): Load {
  const child = fork(PROCESS, { env: {}, execArgv: [], stdio: ["ignore", "inherit", "inherit", "ipc"] });
  guardian.watch(child);
  let counts = NOTHING;
  const done = new Promise<void>((resolve, reject) => {
    child.on("message", (message: FromLoad) => {
      counts = message.counts;
      if (message.kind === "done") resolve();
    });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the load process ended early (${code})`)));
  });
  done.catch(() => {});
  const tell = (message: ToLoad) => void child.send(message);
  tell({ kind: "begin", options });
  return {
    counts: () => counts,
    pace: (perSecond) => tell({ kind: "pace", perSecond }),
    stop: async () => {
      tell({ kind: "stop" });
      const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS_MAX);
      await done.finally(() => clearTimeout(timer));
      return counts;
    },
    abandon: () => void (child.exitCode === null && child.signalCode === null && child.kill("SIGKILL")),
  };
}
