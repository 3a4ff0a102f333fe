// Encodes accepted signals as bytes. Texts are stored as JSON, which keeps NUL and broken surrogates; bodies are
// stored unchanged. Decoding errors are returned as a reason, never thrown, because the bytes come from a disk.
import type { AcceptedSignal, HttpAction, LateEnd, SignalSource, SignalTarget } from "../core/signal.ts";

export type Decoded<T> = { ok: true; value: T } | { ok: false; reason: string };

/** A signal of a batch that could not be decoded, with its bytes. */
export type UnreadableSignal = { ok: false; reason: string; bytes: Uint8Array };

const VERSION = 1;
/** Version, length of the header, length of the body plus one; zero means no body. */
const PREFIX_BYTES = 1 + 4 + 4;
const LENGTH_BYTES = 4;

/** The bytes of one signal. */
export function encodeSignal(signal: AcceptedSignal): Uint8Array {
  return concatenate(partsOf(signal));
}

/** The signals of a batch, each preceded by its length. */
export function encodeSignals(signals: readonly AcceptedSignal[]): Uint8Array<ArrayBuffer> {
  return concatenate(
    signals.flatMap((signal) => {
      const parts = partsOf(signal);
      const length = new Uint8Array(LENGTH_BYTES);
      viewOf(length).setUint32(0, sumOfLengths(parts));
      return [length, ...parts];
    }),
  );
}

function partsOf({ body, ...header }: AcceptedSignal): Uint8Array[] {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const prefix = new Uint8Array(PREFIX_BYTES);
  const view = viewOf(prefix);
  view.setUint8(0, VERSION);
  view.setUint32(1, text.length);
  view.setUint32(5, body === null ? 0 : body.length + 1);
  return body === null ? [prefix, text] : [prefix, text, body];
}

/** The decoded signal, or the reason if it cannot be decoded. The body is a view of the bytes. */
export function decodeSignal(bytes: Uint8Array): Decoded<AcceptedSignal> {
  if (bytes.length < PREFIX_BYTES) return refused("too short");
  const view = viewOf(bytes);
  if (view.getUint8(0) !== VERSION) return refused(`version ${view.getUint8(0)}, expected ${VERSION}`);
  const bodyAt = PREFIX_BYTES + view.getUint32(1);
  const bodyLength = view.getUint32(5);
  if (bytes.length !== bodyAt + Math.max(0, bodyLength - 1)) return refused("wrong length");
  const header = parseJson(bytes.subarray(PREFIX_BYTES, bodyAt));
  if (!header.ok) return header;
  const signal = signalOf(header.value, bodyLength === 0 ? null : bytes.subarray(bodyAt));
  return signal === null ? refused("missing fields") : { ok: true, value: signal };
}

/**
 * The signals of a batch, each decoded or rejected separately. If the lengths are invalid, the rest of the bytes is
 * one rejected signal, so that nothing disappears.
 */
export function decodeSignals(bytes: Uint8Array): ({ ok: true; value: AcceptedSignal } | UnreadableSignal)[] {
  const signals: ({ ok: true; value: AcceptedSignal } | UnreadableSignal)[] = [];
  const view = viewOf(bytes);
  let at = 0;
  while (at < bytes.length) {
    const from = at + LENGTH_BYTES;
    const to = from <= bytes.length ? from + view.getUint32(at) : Number.POSITIVE_INFINITY;
    if (to > bytes.length) {
      signals.push({ ok: false, reason: "truncated", bytes: bytes.subarray(at) });
      break;
    }
    const own = bytes.subarray(from, to);
    const decoded = decodeSignal(own);
    signals.push(decoded.ok ? decoded : { ...decoded, bytes: own });
    at = to;
  }
  return signals;
}

function parseJson(bytes: Uint8Array): Decoded<Fields> {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return isFields(value) ? { ok: true, value } : refused("missing fields");
  } catch {
    return refused("unreadable header");
  }
}

type Fields = { [name: string]: unknown };

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function signalOf(fields: Fields, body: Uint8Array | null): AcceptedSignal | null {
  const target = targetOf(fields["target"]);
  const source = sourceOf(fields["source"]);
  const { rid, exitStatus, scheme, remoteAddr, ua, at } = fields;
  if (target === null || source === null) return null;
  if (!isTextOrNull(rid) || !isTextOrNull(remoteAddr)) return null;
  if (exitStatus !== null && !isWhole(exitStatus)) return null;
  if (typeof scheme !== "string" || typeof ua !== "string" || !isWhole(at)) return null;
  const signal = { target, source, rid, exitStatus, scheme, remoteAddr, ua, body, at };
  // Earlier versions did not write it.
  if (fields["lateEnd"] === undefined || fields["lateEnd"] === null) return signal;
  const lateEnd = lateEndOf(fields["lateEnd"]);
  return lateEnd === null ? null : { ...signal, lateEnd };
}

function lateEndOf(value: unknown): LateEnd | null {
  if (!isFields(value)) return null;
  const { endedAt, ranMs } = value;
  return isWhole(endedAt) && (ranMs === null || isWhole(ranMs)) ? { endedAt, ranMs } : null;
}

function targetOf(value: unknown): SignalTarget | null {
  if (!isFields(value)) return null;
  const { by, uuid, pingKey, slug } = value;
  if (by === "uuid" && typeof uuid === "string") return { by, uuid };
  if (by === "slug" && typeof pingKey === "string" && typeof slug === "string") return { by, pingKey, slug };
  return null;
}

function sourceOf(value: unknown): SignalSource | null {
  if (!isFields(value)) return null;
  const { by, method, subject, text } = value;
  if (by === "email" && typeof subject === "string" && typeof text === "string") return { by, subject, text };
  const action = actionOf(value["action"]);
  return by === "http" && typeof method === "string" && action !== null ? { by, action, method } : null;
}

function actionOf(value: unknown): HttpAction | null {
  if (value === "success" || value === "start" || value === "fail" || value === "log") return value;
  return isFields(value) && isWhole(value["exitStatus"]) ? { exitStatus: value["exitStatus"] } : null;
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function refused(reason: string): { ok: false; reason: string } {
  return { ok: false, reason };
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function sumOfLengths(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(sumOfLengths(parts));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** A quarantined signal; null if it cannot be decoded. */
export function decodeQuarantined(bytes: Uint8Array): AcceptedSignal | null {
  const decoded = decodeSignal(bytes);
  return decoded.ok ? decoded.value : null;
}
