// The events of a project's stream (server-sent events). The id of an event is a growing cursor: a client that reconnects
// with it as Last-Event-ID gets everything since.
import type { MonitoringGap } from "./boot.ts";
import type { CheckRow } from "./check-row.ts";

/**
 * Event `rows`: rows as they are now, and the ids of checks that are not in the project any more. `total` is how many
 * the project has: whoever holds another number after applying this has missed a removal, and fetches the page anew.
 */
export type RowsEvent = { rows: CheckRow[]; removed: string[]; total: number };

/** Event `flip`: a check has changed to up or down. */
export type FlipEvent = {
  /** Its number. It may be told twice, and the page may have shown it already: see `flips` of ChecksBoot. */
  id: number;
  check: string;
  name: string;
  from: "new" | "up" | "down" | "paused";
  to: "up" | "down";
  at: number;
  reason: "success" | "fail" | "timeout";
};

/** Event `down`: so many checks of the project are down now. Comes whenever that may have changed. */
export type DownEvent = { count: number };

/** Event `reload`: too much has happened since the cursor, or it is too old; the page has to be fetched anew. */
export type ReloadEvent = { why: string };

/** Event `receiving`: the monitoring gap that pages show has changed; null: none. */
export type ReceivingEvent = { receiving: MonitoringGap | null };

/** Comes every 15 s and says nothing else: whoever does not hear it has lost the connection without being told. */
export const HERE_EVENT = "here";

export const LIVE_EVENTS = ["rows", "flip", "down", "receiving", "reload"] as const;

export type LiveMessage =
  | { name: "rows"; data: RowsEvent }
  | { name: "flip"; data: FlipEvent }
  | { name: "down"; data: DownEvent }
  | { name: "receiving"; data: ReceivingEvent }
  | { name: "reload"; data: ReloadEvent };

/** The same for whoever cannot hold a stream: what has happened since a cursor, and where to go on. */
export type ChangesPage = { events: LiveMessage[]; cursor: string };
