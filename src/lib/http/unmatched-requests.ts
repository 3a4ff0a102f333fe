// The newest requests that matched no route, in memory, for troubleshooting.
import type { IncomingMessage } from "node:http";

export type UnmatchedRequest = {
  /** By the clock of this machine. */
  at: number;
  method: string;
  host: string;
  /** Path and query, truncated. */
  target: string;
  remoteAddr: string | null;
  ua: string;
};

export type UnmatchedRequests = {
  note(request: IncomingMessage): void;
  /** Newest first. */
  since(at: number): UnmatchedRequest[];
};

const COUNT_MAX = 200;
const TEXT_LENGTH_MAX = 200;

/** An empty list. */
export function unmatchedRequests({
  now = Date.now,
  remoteAddrOf,
}: {
  now?: () => number;
  remoteAddrOf: (request: IncomingMessage) => string | null;
}): UnmatchedRequests {
  const kept: UnmatchedRequest[] = [];
  return {
    note: (request) => {
      const { headers, method = "", url = "" } = request;
      kept.unshift({
        at: now(),
        method: cut(method),
        host: cut(headers.host ?? ""),
        target: cut(url),
        remoteAddr: remoteAddrOf(request),
        ua: cut(headers["user-agent"] ?? ""),
      });
      if (kept.length > COUNT_MAX) kept.length = COUNT_MAX;
    },
    since: (at) => kept.filter((miss) => miss.at >= at),
  };
}

function cut(text: string): string {
  return text.slice(0, TEXT_LENGTH_MAX);
}
