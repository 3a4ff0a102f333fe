// The event stream of a project: server-sent events, or polling if a proxy buffers them. Runs in the shared worker or
// in the page.

import type { ChangesPage, ReloadEvent } from "../../src/contract/api/live.ts";
import { HEARTBEAT_EVENT, LIVE_EVENTS } from "../../src/contract/api/live-events.ts";

export type LiveState = "live" | "reconnecting" | "polling";
export type LiveEvent = { name: string; data: string };
export type LiveAddresses = { stream: string; changes: string };

type StreamListener = { onEvent: (event: LiveEvent) => void; onState: (state: LiveState) => void };

/** Time to connect. */
const OPENING_MS_MAX = 10_000;
/** The server sends something every 5 s; after this time without an event, the connection is considered dead. */
const SILENT_MS_MAX = 12_000;
const POLL_MS = 10_000;
/** Timeout of a poll: a proxy that buffers the stream may also hold back a response. */
const ANSWER_MS_MAX = 20_000;
/** While polling, the stream is tried again this often. */
const RETRY_STREAM_MS = 5 * 60_000;
/** After so many failures in a row, poll instead: a proxy buffers the stream, or there are too many streams. */
const REFUSALS_MAX = 3;
/** The session has ended, or the user has lost access to the project. */
export const NO_ACCESS_STATUSES = [401, 403, 404];
const RECONNECT_MS_MIN = 1_000;
const RECONNECT_MS_MAX = 30_000;

/** The same event that the server sends when everything has to be loaded again. */
export function reloadEvent(reason: string): LiveEvent {
  const data: ReloadEvent = { reason };
  return { name: "reload", data: JSON.stringify(data) };
}

export class LiveStream {
  readonly #addresses: LiveAddresses;
  readonly #sink: StreamListener;
  #cursor: string;
  #source: EventSource | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #pollingSince: number | null = null;
  /** The last poll got no response either, so the server cannot be reached. */
  #isAway = false;
  #isClosed = false;
  /** The number of starts; results of an earlier start are ignored. */
  #turn = 0;

  constructor(addresses: LiveAddresses, cursor: string, sink: StreamListener) {
    this.#addresses = addresses;
    this.#cursor = cursor;
    this.#sink = sink;
    this.#open();
  }

  /**
   * Restarts for a tab that joins later, at the older of the two cursors: the new tab may be behind the stream, or the
   * stream behind the data of the new tab.
   */
  restart(cursor: string): void {
    if (Number(cursor) < Number(this.#cursor)) this.#cursor = cursor;
    this.#pollingSince = null;
    this.#open();
  }

  close(): void {
    this.#isClosed = true;
    this.#source?.close();
    clearTimeout(this.#timer);
  }

  #open(): void {
    this.#source?.close();
    clearTimeout(this.#timer);
    this.#turn += 1;
    const source = new EventSource(withCursor(this.#addresses.stream, this.#cursor));
    this.#source = source;
    this.#timer = setTimeout(() => this.#poll(), OPENING_MS_MAX);
    source.addEventListener("open", () => {
      this.#restartTimeout();
      this.#failures = 0;
      this.#pollingSince = null;
      this.#sink.onState("live");
    });
    source.addEventListener(HEARTBEAT_EVENT, () => this.#restartTimeout());
    for (const name of LIVE_EVENTS) {
      source.addEventListener(name, (event: MessageEvent<string>) => {
        this.#restartTimeout();
        if (event.lastEventId !== "") this.#cursor = event.lastEventId;
        this.#sink.onEvent({ name, data: event.data });
      });
    }
    source.addEventListener("error", () => this.#fail(source));
  }

  /** Called for each event. Without another one in time, the stream reconnects. */
  #restartTimeout(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#sink.onState("reconnecting");
      this.#open();
    }, SILENT_MS_MAX);
  }

  /** The browser reconnects after an interruption, but gives up if the response is not a stream. */
  #fail(source: EventSource): void {
    if (this.#isClosed || source !== this.#source) return;
    this.#sink.onState(this.#pollingSince === null ? "reconnecting" : "polling");
    if (source.readyState !== EventSource.CLOSED) return;
    this.#failures += 1;
    if (this.#failures >= REFUSALS_MAX) {
      this.#failures = 0;
      this.#poll();
      return;
    }
    const waitMs = Math.min(RECONNECT_MS_MAX, RECONNECT_MS_MIN * 2 ** this.#failures);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#open(), waitMs * (0.5 + Math.random() / 2));
  }

  #poll(): void {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
    this.#pollingSince ??= Date.now();
    if (Date.now() - this.#pollingSince > RETRY_STREAM_MS) {
      this.#pollingSince = Date.now();
      this.#open();
      return;
    }
    this.#turn += 1;
    void this.#pollOnce(this.#turn);
  }

  async #pollOnce(turn: number): Promise<void> {
    const isAnswered = await this.#fetchChanges(turn);
    if (this.#isClosed || turn !== this.#turn) return;
    const isBack = isAnswered && this.#isAway;
    this.#isAway = !isAnswered;
    if (isBack) this.#open();
    else this.#timer = setTimeout(() => this.#poll(), POLL_MS);
  }

  /** Whether the server has responded. */
  async #fetchChanges(turn: number): Promise<boolean> {
    try {
      const response = await fetch(withCursor(this.#addresses.changes, this.#cursor), {
        credentials: "same-origin",
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      });
      if (NO_ACCESS_STATUSES.includes(response.status))
        this.#sink.onEvent(reloadEvent("Access to live updates ended."));
      if (!response.ok) throw new Error(`answered ${response.status}`);
      const { events, cursor } = (await response.json()) as ChangesPage;
      // The stream was restarted at another cursor, or closed.
      if (this.#isClosed || turn !== this.#turn) return true;
      this.#cursor = cursor;
      for (const { name, data } of events) this.#sink.onEvent({ name, data: JSON.stringify(data) });
      this.#sink.onState("polling");
      return true;
    } catch {
      if (!this.#isClosed && turn === this.#turn) this.#sink.onState("reconnecting");
      return false;
    }
  }
}

function withCursor(address: string, cursor: string): string {
  return `${address}?cursor=${encodeURIComponent(cursor)}`;
}
