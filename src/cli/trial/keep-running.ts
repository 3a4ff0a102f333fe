// Starts the database of a trial again when it ends without having been told to: on a full disk it gives up, and a system
// that is short of memory ends it. Without this the trial would go on without it, for ever.
import { setTimeout as sleep } from "node:timers/promises";
import type { PrivatePostgres } from "./private-postgres.ts";

/** Time for what is left of the old server to end, and for somebody to make room. */
const PAUSE_MS = 3_000;
const REASON_LENGTH_MAX = 500;

export type Watched = Pick<PrivatePostgres, "postmaster" | "relaunch">;

/**
 * Watches until it is told to stop; that is done when no server is being started any more. `say` gets sentences for the
 * terminal: when it ended, why it does not come, when it is back.
 */
export function keepRunning(
  server: Watched,
  { say, pauseMs = PAUSE_MS }: { say: (text: string) => void; pauseMs?: number },
): () => Promise<void> {
  const over = new AbortController();
  let bringing = Promise.resolve();
  const watch = () => {
    const again = () => {
      // Whoever is told to stop breaks it off, which is no trouble.
      bringing = bringBack().catch(() => {});
    };
    const { exitCode, signalCode } = server.postmaster();
    if (exitCode === null && signalCode === null) server.postmaster().once("exit", again);
    else again();
  };
  const bringBack = async () => {
    if (over.signal.aborted) return;
    say(
      "The trial database stopped unexpectedly, possibly because the disk or memory is full. Restarting it …",
    );
    for (let tries = 1; ; tries += 1) {
      await sleep(pauseMs, undefined, { signal: over.signal });
      try {
        await server.relaunch(over.signal);
        break;
      } catch (error) {
        if (over.signal.aborted) return;
        const said = String(error instanceof Error ? error.message : error).slice(-REASON_LENGTH_MAX);
        if (tries === 1) say(`The restart failed; retrying. ${said.trimEnd()}`);
      }
    }
    say("The trial database is running again.");
    watch();
  };
  watch();
  return async () => {
    over.abort();
    await bringing;
  };
}
