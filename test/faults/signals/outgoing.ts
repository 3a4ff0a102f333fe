// The signals that a run sends: every kind, with and without body and run ID, each with its own marker by which it is
// found in the log.
import { createHash, randomBytes } from "node:crypto";
import type { Chance } from "../chance.ts";

/** The target of signals: a check, with its UUID and slug. */
export type Target = { checkId: number; uuid: string; pingKey: string; slug: string };

/** The letters of the kinds in the log. */
export type KindLetter = "s" | "b" | "f" | "l";

export type Outgoing = {
  marker: string;
  checkId: number;
  kind: KindLetter;
  method: "GET" | "HEAD" | "POST";
  path: string;
  rid: string | null;
  body: Buffer | null;
};

/** The default of OVERDUE_PING_BODY_LIMIT: longer bodies are truncated. */
const BODY_BYTES_KEPT = 10_000;
const FILLER_BYTES = 64 * 1024;
const UA_PREFIX = "faults/";
/** The sender address of an email contains its marker. */
const MAIL_UA = /^Email from faults\/([^@]+)@/;

/** The suffix of a kind in ping URLs. */
const ENDINGS: Record<KindLetter, readonly string[]> = {
  s: ["", "", "", "/0"],
  b: ["/start"],
  f: ["/fail", "/1", "/255"],
  l: ["/log"],
};
const BODILESS: readonly Outgoing["method"][] = ["GET", "GET", "HEAD"];
/** How often each kind is sent. */
const KINDS: readonly KindLetter[] = ["s", "s", "s", "s", "b", "b", "f", "f", "l", "l"];

/** The user agent that contains a marker. */
export function userAgentOf(marker: string): string {
  return UA_PREFIX + marker;
}

/** The marker in a user agent; null for a signal that is not ours. */
export function markerIn(userAgent: string): string | null {
  if (userAgent.startsWith(UA_PREFIX)) return userAgent.slice(UA_PREFIX.length);
  return MAIL_UA.exec(userAgent)?.[1] ?? null;
}

/** The digest of the stored part of a body. */
export function digestOf(body: Buffer): string {
  return createHash("sha256").update(body.subarray(0, BODY_BYTES_KEPT)).digest("hex");
}

export type SignalMaker = {
  /** A random signal for one of the targets. */
  any(targets: readonly Target[]): Outgoing;
  /** A signal of a given kind, by UUID unless the slug is requested. */
  make(
    target: Target,
    wish: { kind: KindLetter; rid?: string | null; bySlug?: boolean; body?: Buffer | null },
  ): Outgoing;
};

/** Markers begin with the prefix, and are unique. */
export function signalMaker({ prefix, chance }: { prefix: string; chance: Chance }): SignalMaker {
  const filler = randomBytes(FILLER_BYTES);
  let count = 0;
  const make: SignalMaker["make"] = (target, { kind, rid = null, bySlug = false, body = null }) => {
    count += 1;
    const marker = `${prefix}-${count}`;
    const address = bySlug ? `${target.pingKey}/${target.slug}` : target.uuid;
    const query = rid === null ? "" : `?rid=${rid}`;
    const path = `/ping/${address}${chance.pick(ENDINGS[kind])}${query}`;
    const method = body !== null || chance.fraction() < 0.3 ? "POST" : chance.pick(BODILESS);
    return { marker, checkId: target.checkId, kind, method, path, rid, body };
  };
  return {
    make,
    any: (targets) =>
      make(chance.pick(targets), {
        kind: chance.pick(KINDS),
        rid: chance.fraction() < 0.5 ? crypto.randomUUID() : null,
        bySlug: chance.fraction() < 0.3,
        body: someBody(chance, filler),
      }),
  };
}

/** None, a line or two, a page, or more than is stored. */
function someBody(chance: Chance, filler: Buffer): Buffer | null {
  const dice = chance.fraction();
  if (dice < 0.3) return null;
  const bytes = dice < 0.8 ? [1, 400] : dice < 0.95 ? [400, 4_000] : [9_990, 12_000];
  const length = chance.between(bytes[0] ?? 1, bytes[1] ?? 1);
  const from = chance.between(0, FILLER_BYTES - length);
  return Buffer.from(filler.subarray(from, from + length));
}
