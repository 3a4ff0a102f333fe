// Pings and flips in the Management API. Which fields a version shows is in versions.ts.
import { type Static, type TSchema, Type } from "typebox";
import type { Instant } from "../core/instant.ts";
import { FLIP_FILTER_SECONDS_MAX, FLIP_FILTER_UNIX_SECONDS_MAX } from "../core/limits.ts";
import type { SignalKind } from "../core/signal.ts";
import type { QueryParameter } from "./route.ts";
import { isoMicroseconds, isoSeconds } from "./timestamp.ts";
import type { PingField } from "./versions.ts";

const KINDS = ["success", "start", "fail", "log", "ign"] as const satisfies readonly SignalKind[];

/** Every field of a ping; the last one is shown in every version, if it is known. */
const PROPERTIES = {
  type: Type.Enum([...KINDS], {
    description: "The type of ping. `ign` means that it was recorded but ignored.",
  }),
  date: Type.String({
    format: "date-time",
    description: "Time when the ping was received, with microseconds.",
  }),
  n: Type.Integer({
    minimum: 1,
    description: "Sequence number of the ping within its check.",
  }),
  scheme: Type.String({ description: "The scheme of the request, such as `http`, `https`, or `email`." }),
  remote_addr: Type.Union([Type.String(), Type.Null()], {
    description: "The IP address of the client. Null if there is none.",
  }),
  method: Type.String({ description: "The HTTP method of the request; empty for an email." }),
  ua: Type.String({ description: "The user agent of the client." }),
  rid: Type.Union([Type.String({ format: "uuid" }), Type.Null()], { description: "The run identifier." }),
  body_url: Type.Union([Type.String({ format: "uri" }), Type.Null()], {
    description: "URL of the logged body. Null if there is none.",
  }),
  duration: Type.Optional(
    Type.Number({
      minimum: 0,
      description: "Duration of the run in seconds, for a success or failure that follows a start.",
    }),
  ),
} satisfies Record<PingField | "duration", TSchema>;

/** The list of a version that shows these fields. */
export function pingListSchema(fields: readonly PingField[]): TSchema {
  const properties: Record<string, TSchema> = {};
  for (const field of [...fields, "duration"] as const) properties[field] = PROPERTIES[field];
  const ping = Type.Object(properties, { additionalProperties: false });
  return Type.Object({ pings: Type.Array(ping) }, { additionalProperties: false });
}

const AllFields = Type.Object(PROPERTIES);

/** A ping of version 3. */
export type FullPing = Static<typeof AllFields>;

/** A ping as JSON: all fields, or those of a version. */
export type PingJson = Partial<FullPing>;

/** The data of a ping to show. */
export type ShownPing = {
  n: number;
  at: Instant;
  kind: SignalKind;
  scheme: string;
  remoteAddr: string | null;
  method: string;
  ua: string;
  rid: string | null;
  bodySize: number | null;
};

export type PingView = {
  /** The fields that the version shows. */
  fields: readonly PingField[];
  /** Durations of the list, in milliseconds, by ping number. */
  durations: ReadonlyMap<number, number>;
  bodyUrl(n: number): string;
};

/** The pings of a list as JSON, in the given order. */
export function presentPings(pings: readonly ShownPing[], view: PingView): { pings: PingJson[] } {
  const shown = new Set<string>([...view.fields, "duration"]);
  return { pings: pings.map((ping) => presentPing(ping, { ...view, shown })) };
}

function presentPing(ping: ShownPing, view: PingView & { shown: ReadonlySet<string> }): PingJson {
  const durationMs = view.durations.get(ping.n);
  const all: PingJson = {
    type: ping.kind,
    date: isoMicroseconds(ping.at),
    n: ping.n,
    scheme: ping.scheme,
    remote_addr: ping.remoteAddr,
    method: ping.method,
    ua: ping.ua,
    rid: ping.rid,
    body_url: ping.bodySize === null ? null : view.bodyUrl(ping.n),
    ...(durationMs === undefined ? {} : { duration: toHundredths(durationMs) }),
  };
  return Object.fromEntries(Object.entries(all).filter(([field]) => view.shown.has(field)));
}

/** Seconds with two decimals, as clients expect. */
function toHundredths(ms: number): number {
  return Math.round(ms / 10) / 100;
}

const FlipSchema = Type.Object(
  {
    timestamp: Type.String({ format: "date-time", description: "When the status changed." }),
    up: Type.Union([Type.Literal(0), Type.Literal(1)], {
      description: "1 when the check changed to up, 0 when it changed to down.",
    }),
  },
  { additionalProperties: false },
);

export type FlipShape = "array" | "object";

/** The list in the format of a dialect. */
export function flipListSchema(shape: FlipShape): TSchema {
  const list = Type.Array(FlipSchema);
  return shape === "array" ? list : Type.Object({ flips: list }, { additionalProperties: false });
}

/** The filters of the list. Rules that a schema cannot express are in core/request/filters.ts. */
export const FLIP_QUERY: readonly QueryParameter[] = [
  {
    name: "seconds",
    description: "Return only flips from this many seconds ago until now. 0 means no filter.",
    schema: Type.Integer({ minimum: 0, maximum: FLIP_FILTER_SECONDS_MAX }),
    isRepeatable: false,
  },
  {
    name: "start",
    description: "Return only flips at or after this UNIX timestamp.",
    schema: Type.Integer({ minimum: 0, maximum: FLIP_FILTER_UNIX_SECONDS_MAX }),
    isRepeatable: false,
  },
  {
    name: "end",
    description: "Return only flips before this UNIX timestamp.",
    schema: Type.Integer({ minimum: 0, maximum: FLIP_FILTER_UNIX_SECONDS_MAX }),
    isRepeatable: false,
  },
];

export type FlipJson = Static<typeof FlipSchema>;

/** One flip as JSON. */
export function presentFlip({ at, to }: { at: Instant; to: "up" | "down" }): FlipJson {
  return { timestamp: isoSeconds(at), up: to === "up" ? 1 : 0 };
}
