// Answers that are owed: each has to leave within a fixed time, whatever it waits for. One timer watches over
// all of them, because a timer for each request would cost more than the request's decoding.
import type { ServerResponse } from "node:http";

export type Owed = { readonly response: ServerResponse; readonly dueAtMs: number };

export type PendingAnswers = {
  /** Notes that an answer is owed from now on. */
  owe(response: ServerResponse): Owed;
  /** False when it came too late: it has been answered already. */
  settle(owed: Owed): boolean;
  count(): number;
};

/** An answer that is due is late by this much at most. */
const CHECK_EVERY_MS = 50;

/** `late` is called for each answer that was not settled in time, and has to give one. */
export function pendingAnswers(options: {
  withinMs: number;
  late(response: ServerResponse): void;
}): PendingAnswers {
  // All wait equally long, so the order of insertion is the order of being due.
  const pending = new Set<Owed>();
  let timer: NodeJS.Timeout | null = null;
  const check = () => {
    const now = performance.now();
    for (const owed of pending) {
      if (owed.dueAtMs > now) break;
      pending.delete(owed);
      options.late(owed.response);
    }
    if (pending.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
  return {
    owe: (response) => {
      const owed = { response, dueAtMs: performance.now() + options.withinMs };
      pending.add(owed);
      timer ??= setInterval(check, CHECK_EVERY_MS);
      return owed;
    },
    settle: (owed) => pending.delete(owed),
    count: () => pending.size,
  };
}
