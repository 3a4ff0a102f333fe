// Encodes records of the log as bytes. A process encodes thousands of signals per second, so an HTTP ping is written
// field by field; anything unusual is written as in the spool. Decoding errors are returned as a reason, never thrown.
import { isUuid } from "../core/identity.ts";
import { LOG_RECORD_BYTES_MAX, type LogRecord, NO_REFUSALS } from "../core/log.ts";
import type { AcceptedSignal, HttpAction } from "../core/signal.ts";
import { decodeSignal, encodeSignal, type UnreadableSignal } from "./accepted-codec.ts";

/** Another one whenever the bytes below change, also those of one signal: older recorders then wait for an upgrade. */
const VERSION = 1;
/** Records of another program usually begin with a printable character, which is no version. */
const VERSIONS_MAX = 31;
const KINDS = ["enter", "more", "leave"] as const;
const UUID_LENGTH = 36;
/** Enough for every instant and number. */
const NUMBER_BYTES = 6;
/** Version, kind, edge, number, two instants, length of the reports, number of signals. */
const HEADER_BYTES = 2 + UUID_LENGTH + 3 * NUMBER_BYTES + 4 + 4;

/** How the first byte of a signal says what follows. */
const BY_FIELDS = 0;
const AS_IN_SPOOL = 1;
const ACTIONS = ["success", "start", "fail", "log"] as const;
const BY_EXIT_STATUS = ACTIONS.length;
const NO_STATUS = 0xffff;
const NO_TEXT = 0xffff;
/** Everything of a signal by fields except its texts and body: length, form, UUID, instant, action, two statuses, has a body. */
const FIELDS_BYTES = 4 + 1 + UUID_LENGTH + NUMBER_BYTES + 5 + 1;
/** Characters of each text of a signal that would be too large for a record otherwise. */
const TEXT_LENGTH_MAX = 50_000;
const TRUNCATED_SPARE_BYTES = 16 * 1024;
const LATIN_1 = /^[\0-\xff]*$/;

type Reports = Pick<LogRecord, "givenUp" | "refused" | "attributed">;

/** A signal as bytes, with what is needed to put it into a record. */
export type EncodedSignal = Buffer;

/** The bytes of a signal for a record. They always fit: what is too long is truncated. */
export function encodeForLog(signal: AcceptedSignal): EncodedSignal {
  const bytes = encodeFields(signal) ?? encodeWhole(signal);
  const excess = bytes.length + HEADER_BYTES - LOG_RECORD_BYTES_MAX;
  return excess <= 0 ? bytes : encodeWhole(truncated(signal, excess));
}

/** The texts of an email have up to 6 bytes per character. */
function truncated(signal: AcceptedSignal, excess: number): AcceptedSignal {
  const { body, source } = signal;
  // The other form is a little longer.
  const left = (body?.length ?? 0) - excess - TRUNCATED_SPARE_BYTES;
  if (body !== null && left >= 0) return { ...signal, body: body.subarray(0, left) };
  if (source.by !== "email") return { ...signal, body: null };
  const subject = source.subject.slice(0, TEXT_LENGTH_MAX);
  return {
    ...signal,
    body: null,
    source: { ...source, subject, text: source.text.slice(0, TEXT_LENGTH_MAX) },
  };
}

function encodeFields(signal: AcceptedSignal): Buffer | null {
  const { target, source, rid, exitStatus, scheme, remoteAddr, ua, body, at, lateEnd } = signal;
  if (target.by !== "uuid" || source.by !== "http" || (lateEnd ?? null) !== null) return null;
  const texts = [source.method, rid, scheme, remoteAddr, ua];
  // Exact, because a part of a buffer is one more object for each ping.
  let length = FIELDS_BYTES + 2 * texts.length + (body?.length ?? 0);
  for (const text of texts) {
    if (text === null) continue;
    if (text.length >= NO_TEXT || !LATIN_1.test(text)) return null;
    length += text.length;
  }
  if (exitStatus !== null && (exitStatus < 0 || exitStatus >= NO_STATUS)) return null;
  const bytes = Buffer.allocUnsafe(length);
  let end = 4;
  bytes[end] = BY_FIELDS;
  end += 1;
  end += bytes.write(target.uuid, end, "latin1");
  bytes.writeUIntBE(at, end, NUMBER_BYTES);
  end += NUMBER_BYTES;
  const { action } = source;
  bytes[end] = typeof action === "string" ? ACTIONS.indexOf(action) : BY_EXIT_STATUS;
  bytes.writeUInt16BE(typeof action === "string" ? NO_STATUS : action.exitStatus, end + 1);
  bytes.writeUInt16BE(exitStatus ?? NO_STATUS, end + 3);
  end += 5;
  for (const text of texts) {
    bytes.writeUInt16BE(text === null ? NO_TEXT : text.length, end);
    end += 2;
    if (text !== null && text !== "") end += bytes.write(text, end, "latin1");
  }
  bytes[end] = Number(body !== null);
  end += 1;
  if (body !== null) bytes.set(body, end);
  bytes.writeUInt32BE(length - 4, 0);
  return bytes;
}

function encodeWhole(signal: AcceptedSignal): Buffer {
  const spooled = encodeSignal(signal);
  const bytes = Buffer.allocUnsafe(5 + spooled.length);
  bytes.writeUInt32BE(1 + spooled.length, 0);
  bytes[4] = AS_IN_SPOOL;
  bytes.set(spooled, 5);
  return bytes;
}

/**
 * How many of these signals fit into one record beside its reports, from the first on. Without reports, it is at least
 * one.
 */
export function countThatFit(signals: readonly EncodedSignal[], reportsBytes = 0): number {
  let bytes = HEADER_BYTES + reportsBytes;
  for (const [index, signal] of signals.entries()) {
    bytes += signal.length;
    if (bytes > LOG_RECORD_BYTES_MAX) return reportsBytes === 0 ? Math.max(1, index) : index;
  }
  return signals.length;
}

/** The bytes of what a record reports. */
export function encodeReports({ givenUp, refused, attributed }: Reports): Buffer {
  const count = givenUp.length + refused.length + attributed.targets.length + attributed.networks.length;
  return count === 0 ? NOTHING : Buffer.from(JSON.stringify({ givenUp, refused, attributed }));
}

const NOTHING = Buffer.alloc(0);

/** The bytes of a record. */
export function encodeRecord(
  record: Omit<LogRecord, "signals">,
  signals: readonly EncodedSignal[],
  reports = encodeReports(record),
): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  header[0] = VERSION;
  header[1] = KINDS.indexOf(record.kind);
  let end = 2 + header.write(record.edge, 2, "latin1");
  for (const number of [record.n, record.at, record.watermarkAt]) {
    header.writeUIntBE(number, end, NUMBER_BYTES);
    end += NUMBER_BYTES;
  }
  header.writeUInt32BE(reports.length, end);
  header.writeUInt32BE(signals.length, end + 4);
  return Buffer.concat([header, reports, ...signals]);
}

export type DecodedRecord =
  | { ok: true; record: LogRecord; unreadable: readonly UnreadableSignal[] }
  /** `isNewer`: a newer version of Overdue has written it, which can read it. */
  | { ok: false; reason: string; isNewer: boolean };

/** The record in these bytes. Signals that cannot be decoded are returned separately, so that nothing disappears. */
export function decodeRecord(bytes: Buffer): DecodedRecord {
  const version = bytes[0] ?? 0;
  if (version > VERSION && version <= VERSIONS_MAX) {
    return { ok: false, reason: `format ${version} instead of ${VERSION}`, isNewer: true };
  }
  if (bytes.length < HEADER_BYTES) return unreadable("too short");
  if (version !== VERSION) return unreadable(`version ${version}, expected ${VERSION}`);
  const kind = KINDS[bytes[1] ?? KINDS.length];
  if (kind === undefined) return unreadable("unknown kind");
  const edge = bytes.toString("latin1", 2, 2 + UUID_LENGTH);
  const numbersAt = 2 + UUID_LENGTH;
  const n = bytes.readUIntBE(numbersAt, NUMBER_BYTES);
  const at = bytes.readUIntBE(numbersAt + NUMBER_BYTES, NUMBER_BYTES);
  const watermarkAt = bytes.readUIntBE(numbersAt + 2 * NUMBER_BYTES, NUMBER_BYTES);
  if (!isUuid(edge) || watermarkAt > at) return { ok: false, reason: "impossible header", isNewer: false };
  const reportsLength = bytes.readUInt32BE(HEADER_BYTES - 8);
  const signalsAt = HEADER_BYTES + reportsLength;
  const reports = reportsLength === 0 ? NO_REPORTS : parseReports(bytes.subarray(HEADER_BYTES, signalsAt));
  if (signalsAt > bytes.length || reports === null) return unreadable("unreadable reports");
  const signals: AcceptedSignal[] = [];
  const rejected: UnreadableSignal[] = [];
  for (let from = signalsAt; from < bytes.length; ) {
    const to = from + 4 <= bytes.length ? from + 4 + bytes.readUInt32BE(from) : Number.POSITIVE_INFINITY;
    if (to > bytes.length) {
      rejected.push({ ok: false, reason: "truncated", bytes: bytes.subarray(from) });
      break;
    }
    const own = bytes.subarray(from + 4, to);
    const signal = decodeOne(own);
    if (typeof signal === "string") rejected.push({ ok: false, reason: signal, bytes: own });
    else signals.push(signal);
    from = to;
  }
  return { ok: true, record: { edge, kind, n, at, watermarkAt, ...reports, signals }, unreadable: rejected };
}

function unreadable(reason: string): DecodedRecord {
  return { ok: false, reason, isNewer: false };
}

const NO_REPORTS: Reports = { givenUp: [], refused: [], attributed: NO_REFUSALS };

/** Null if they are not as we write them: a value that the database refuses would stop the partition. */
function parseReports(bytes: Buffer): Reports | null {
  try {
    const { givenUp, refused, attributed } = JSON.parse(bytes.toString()) as Reports;
    const { targets, networks } = attributed;
    const areValid =
      [givenUp, refused, targets, networks].every(Array.isArray) &&
      givenUp.every(Number.isSafeInteger) &&
      refused.every((one) => isInstant(one.from) && (one.to === null || isInstant(one.to))) &&
      targets.every((one) => isStretch(one) && isTarget(one.target)) &&
      networks.every((one) => isStretch(one) && NETWORK.test(one.network));
    return areValid ? { givenUp, refused, attributed } : null;
  } catch {
    return null;
  }
}

const INSTANT_MAX = 2 ** (8 * NUMBER_BYTES);
/** An address or a network in CIDR form. */
const NETWORK = /^[0-9a-f.:]{2,45}(?:\/[0-9]{1,3})?$/;
/** Ping keys and slugs as they may be in a URL. */
const NAME = /^[\x20-\x7e]{0,200}$/;

function isInstant(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) < INSTANT_MAX;
}

function isStretch({ from, to }: { from: unknown; to: unknown }): boolean {
  return isInstant(from) && isInstant(to);
}

function isTarget(target: Reports["attributed"]["targets"][number]["target"]): boolean {
  if (target.by === "uuid") return isUuid(target.uuid);
  return target.by === "slug" && NAME.test(target.pingKey) && NAME.test(target.slug);
}

function decodeOne(bytes: Buffer): AcceptedSignal | string {
  try {
    if (bytes[0] === BY_FIELDS) return decodeFields(bytes);
    if (bytes[0] !== AS_IN_SPOOL) return "unknown form";
    const decoded = decodeSignal(bytes.subarray(1));
    return decoded.ok ? decoded.value : decoded.reason;
  } catch {
    return "wrong length";
  }
}

/** Throws if a field is beyond the end. */
function decodeFields(bytes: Buffer): AcceptedSignal {
  let from = 1;
  const uuid = bytes.toString("latin1", from, from + UUID_LENGTH);
  from += UUID_LENGTH;
  const at = bytes.readUIntBE(from, NUMBER_BYTES);
  from += NUMBER_BYTES;
  const actionCode = bytes.readUInt8(from);
  const actionStatus = bytes.readUInt16BE(from + 1);
  const status = bytes.readUInt16BE(from + 3);
  from += 5;
  const action: HttpAction = ACTIONS[actionCode] ?? { exitStatus: actionStatus };
  const texts: (string | null)[] = [];
  for (let left = 5; left > 0; left -= 1) {
    const length = bytes.readUInt16BE(from);
    from += 2;
    if (length === NO_TEXT) texts.push(null);
    else {
      texts.push(bytes.toString("latin1", from, from + length));
      from += length;
    }
  }
  const hasBody = bytes.readUInt8(from) === 1;
  const [method, rid = null, scheme, remoteAddr = null, ua] = texts;
  return {
    target: { by: "uuid", uuid },
    source: { by: "http", action, method: method ?? "" },
    rid,
    exitStatus: status === NO_STATUS ? null : status,
    scheme: scheme ?? "",
    remoteAddr,
    ua: ua ?? "",
    body: hasBody ? bytes.subarray(from + 1) : null,
    at,
  };
}
