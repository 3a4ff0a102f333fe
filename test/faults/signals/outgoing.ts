// The signals that a run sends: every kind, with and without body and run id, each with a marker of its own by
// which it is found again in the log.
import { createHash, randomBytes } from "node:crypto";
import type { Chance } from "../chance.ts";

/** Where signals go: a check, and both names that lead to it. */
export type Target = { checkId: number; uuid: string; pingKey: string; slug: string };

/** The letters under which the log keeps the kinds. */
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

/** The default of OVERDUE_PING_BODY_LIMIT: what is longer is cut there. */
const BODY_BYTES_KEPT = 10_000;
const FILLER_BYTES = 64 * 1024;
const UA_PREFIX = "faults/";
/** A mail carries its marker as the name of its sender. */
const MAIL_UA = /^Email from faults\/([^@]+)@/;

/** What a kind is called at the end of a ping URL. */
const ENDINGS: Record<KindLetter, readonly string[]> = {
  s: ["", "", "", "/0"],
  b: ["/start"],
  f: ["/fail", "/1", "/255"],
  l: ["/log"],
};
const BODILESS: readonly Outgoing["method"][] = ["GET", "GET", "HEAD"];
/** How often each kind is sent. */
const KINDS: readonly KindLetter[] = ["s", "s", "s", "s", "b", "b", "f", "f", "l", "l"];

/** The user agent that carries a marker. */
export function userAgentOf(marker: string): string {
  return UA_PREFIX + marker;
}

/** The marker in a user agent; null for a signal that is not ours. */
export function markerIn(userAgent: string): string | null {
  if (userAgent.startsWith(UA_PREFIX)) return userAgent.slice(UA_PREFIX.length);
  return MAIL_UA.exec(userAgent)?.[1] ?? null;
}

/** The digest of what is kept of a body. */
export function digestOf(body: Buffer): string {
  return createHash("sha256").update(body.subarray(0, BODY_BYTES_KEPT)).digest("hex");
}

export type SignalMaker = {
  /** Any signal for one of the targets. */
  any(targets: readonly Target[]): Outgoing;
  /** One of a kind, by UUID unless the slug is asked for. */
  make(
    target: Target,
    wish: { kind: KindLetter; rid?: string | null; bySlug?: boolean; body?: Buffer | null },
  ): Outgoing;
};

/** Markers begin with the prefix, and are never given twice under it. */
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

/** None, a line or two, a page, or more than is kept. */
function someBody(chance: Chance, filler: Buffer): Buffer | null {
  const dice = chance.fraction();
  if (dice < 0.3) return null;
  const bytes = dice < 0.8 ? [1, 400] : dice < 0.95 ? [400, 4_000] : [9_990, 12_000];
  const length = chance.between(bytes[0] ?? 1, bytes[1] ?? 1);
  const from = chance.between(0, FILLER_BYTES - length);
  return Buffer.from(filler.subarray(from, from + length));
}
