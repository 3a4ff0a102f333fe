// Status pages: what users choose, and what the public sees. A public value never has IDs, tags, slugs or names of
// checks: everything in a StatusView was written for the public, or is a number or a time.
import type { Instant } from "./instant.ts";

/** Colors that a page may set. States keep their colors. */
export const BRAND_TOKENS = ["background", "accent", "ink", "button"] as const;
export type BrandToken = (typeof BRAND_TOKENS)[number];
/** As `#rrggbb`; null: the default. */
export type Brand = Readonly<Record<BrandToken, string | null>>;

/** What an entry is about. A check that was deleted since has no state. */
export type EntrySource = { kind: "check"; checkId: number } | { kind: "tag"; tag: string };

export type StatusEntry = {
  /** Names the entry within its page. Not public. */
  id: string;
  /** The public name. */
  name: string;
  description: string;
  source: EntrySource;
};

export type StatusGroup = { name: string; entries: readonly StatusEntry[] };

export const LOGO_TYPES = ["image/png", "image/jpeg", "image/webp"] as const;
export type LogoType = (typeof LOGO_TYPES)[number];

/** `proved`: served. `lost`: served, but the record has disappeared. */
export type DomainState = "unproved" | "proved" | "lost";

export type StatusDomain = {
  name: string;
  /** Part of the DNS record. */
  token: string;
  provedAt: Instant | null;
  checkedAt: Instant | null;
  /** Since when the record is missing. */
  lostAt: Instant | null;
};

/** A page as its editors know it. */
export type StatusPage = {
  id: number;
  uuid: string;
  projectId: number;
  slug: string;
  title: string;
  description: string;
  brand: Brand;
  groups: readonly StatusGroup[];
  /** Null: anyone can read the page. */
  passwordHash: string | null;
  domain: StatusDomain | null;
  logo: { type: LogoType; digest: string } | null;
  createdAt: Instant;
  deletedAt: Instant | null;
  version: number;
};

/**
 * The state of an entry or a page. `delayed`: a run is late and within its grace time. `unknown`: nothing was measured
 * yet, or monitoring is paused.
 */
export type PublicState = "operational" | "delayed" | "down" | "maintenance" | "unknown";

/** `brief`: less downtime than STATUS_OUTAGE_MS_MIN. `none`: not measured. */
export type StripState = "up" | "brief" | "down" | "none";

export type StripDay = {
  /** In the time zone of the page: `2026-11-18`. */
  day: string;
  state: StripState;
  downMs: number;
  /** The share of the measured time in which it was not down, from 0 to 1; null: not measured. */
  share: number | null;
};

export type ViewEntry = {
  name: string;
  description: string;
  state: PublicState;
  /** Of the last STATUS_DAYS days; null: not measured for long enough. */
  uptime: number | null;
  /** The first measured day if it is not the first of the strip; null otherwise. */
  measuredSince: string | null;
  /** STATUS_DAYS days, oldest first. The last one is today. */
  days: readonly StripDay[];
};

export type ViewNote = { id: string; at: Instant; text: string };

export type ViewPost = {
  /** Names it in feeds. Made for the public. */
  id: string;
  title: string;
  from: Instant;
  /** Of an incident: when it was resolved; null: it is open. Of maintenance: the planned end. */
  until: Instant | null;
  /** Public names of the affected entries. */
  entries: readonly string[];
  /** Newest first. */
  notes: readonly ViewNote[];
  updatedAt: Instant;
};

/** Everything that the public sees of a page, and nothing else. */
export type StatusView = {
  slug: string;
  title: string;
  description: string;
  zone: string;
  brand: Brand;
  logo: { type: LogoType; digest: string } | null;
  /** The proved domain. */
  domain: string | null;
  state: PublicState;
  groups: readonly { name: string; state: PublicState; entries: readonly ViewEntry[] }[];
  /** Newest first. */
  openIncidents: readonly ViewPost[];
  pastIncidents: readonly ViewPost[];
  /** Current and planned windows, the next one first. */
  maintenance: readonly ViewPost[];
  pastMaintenance: readonly ViewPost[];
  /** When it was computed. */
  at: Instant;
  /** When it may have changed by the clock alone. */
  refreshAt: Instant;
};

/** What a subscriber is told. Only public texts. */
export type StatusNews =
  | { kind: "confirm" }
  | { kind: "state"; entry: string; from: PublicState; to: PublicState; at: Instant }
  | { kind: "incident"; title: string; text: string; isResolved: boolean; entries: readonly string[]; at: Instant }
  | {
      kind: "maintenance";
      title: string;
      text: string;
      from: Instant;
      until: Instant;
      entries: readonly string[];
      at: Instant;
    };
