// Calls to a worker thread. When a thread ends, for whatever reason, all pending and later calls are rejected.
import { extname } from "node:path";
import type { Transferable, Worker } from "node:worker_threads";

/** A request to the thread. */
export type ThreadCall<Request> = { id: number; request: Request };

/** The response, once for every call. */
export type ThreadReply<Answer> = { id: number; answer: Answer };

/** The thread has ended; its last operation may or may not have been completed. */
export class ThreadEnded extends Error {
  override readonly name = "ThreadEnded";
}

export type ThreadCalls<Request, Answer> = {
  /** Rejects only with ThreadEnded; an error of the thread is a response. */
  call(request: Request, transfer?: readonly Transferable[]): Promise<Answer>;
  /** Why the thread has ended, or null. */
  ended(): string | null;
  /** Resolves when the thread has ended, or was terminated because it took too long. */
  waitForEnd(timeoutMs: number): Promise<void>;
};

/**
 * The file of a thread next to the module at `from`, with the same extension: .ts in a checkout and .js once built.
 */
export function threadFile(path: string, from: string): URL {
  return new URL(path.replace(/\.ts$/, extname(from)), from);
}

/** Handles the messages of a worker that responds to every call, in any order. */
export function callsTo<Request, Answer>(worker: Worker): ThreadCalls<Request, Answer> {
  type Waiting = { resolve: (answer: Answer) => void; reject: (error: Error) => void };
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let endedBecause: string | null = null;

  const end = (reason: string) => {
    endedBecause ??= reason;
    for (const { reject } of waiting.values()) reject(new ThreadEnded(endedBecause));
    waiting.clear();
  };
  worker.on("message", ({ id, answer }: ThreadReply<Answer>) => {
    waiting.get(id)?.resolve(answer);
    waiting.delete(id);
  });
  worker.on("messageerror", (error) => end(`an answer could not be read: ${error.message}`));
  worker.on("error", (error) => end(error instanceof Error ? error.message : String(error)));
  const exited = new Promise<void>((resolve) => {
    worker.on("exit", (code) => {
      end(`the thread ended with code ${code}`);
      resolve();
    });
  });

  return {
    call: (request, transfer = []) =>
      new Promise((resolve, reject) => {
        if (endedBecause !== null) return reject(new ThreadEnded(endedBecause));
        lastId += 1;
        waiting.set(lastId, { resolve, reject });
        worker.postMessage({ id: lastId, request } satisfies ThreadCall<Request>, [...transfer]);
      }),
    ended: () => endedBecause,
    waitForEnd: async (timeoutMs) => {
      const timer = setTimeout(() => void worker.terminate(), timeoutMs);
      await exited;
      clearTimeout(timer);
    },
  };
}
