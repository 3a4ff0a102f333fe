// A signal as a protocol accepted it, before anybody looked up its check or asked what it means. What is here
// is all that is kept of it until it is recorded, so it must be enough to record it hours later.
import type { Instant } from "./instant.ts";
import type { HttpAction } from "./signal.ts";

/** What the signal's address names. A slug is resolved when the signal is recorded, not when it came. */
export type SignalTarget = { by: "uuid"; uuid: string } | { by: "slug"; pingKey: string; slug: string };

/** What the signal's kind will be told from, once the settings of its check are known. */
export type SignalSource =
  | { by: "http"; action: HttpAction; method: string }
  /** The decoded subject, and the plain and the HTML part as one text. */
  | { by: "email"; subject: string; text: string };

export type AcceptedSignal = {
  target: SignalTarget;
  source: SignalSource;
  /** Run id, lower case, or null. */
  rid: string | null;
  exitStatus: number | null;
  scheme: string;
  remoteAddr: string | null;
  ua: string;
  /** The kept part of the body as it came, or null when there was none. */
  body: Uint8Array | null;
  /** Receive time on the database's clock. */
  at: Instant;
};

/** Signals that are recorded together. A batch is frozen once it is numbered. */
export type Batch = {
  /** The start of an intake that numbered the batch. */
  intakeId: string;
  /** 1, 2, 3 … without a gap. */
  seq: number;
  signals: readonly AcceptedSignal[];
};

/**
 * What became of a signal: logged; no such check; several checks of that slug; quarantined; or an error of our own code
 * kept it from being recorded, so that nothing may be promised to its sender.
 */
export type SignalResult = "recorded" | "unknown" | "ambiguous" | "rejected" | "failed";
