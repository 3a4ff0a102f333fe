// The names of the events of a stream. No schemas, so that the browser does not load them.
import type { LiveMessage } from "./live.ts";

/** Sent regularly without data. A client that does not receive it has lost the connection. */
export const HEARTBEAT_EVENT = "heartbeat";

export const LIVE_EVENTS = [
  "checks",
  "flip",
  "down",
  "monitoringGap",
  "reload",
] as const satisfies readonly LiveMessage["name"][];
