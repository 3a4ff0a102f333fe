// Status pages: what users choose, and what the public sees. A public value never has IDs, tags, slugs or names of
// checks: everything in a StatusView was written for the public, or is a number or a time.
import { isSigned, signed, type Signer, type Signing } from "./email.ts";
import { DAY_MS, type Instant, SECOND_MS } from "./instant.ts";
import {
  STATUS_ANNOUNCE_SECONDS,
  STATUS_DOMAIN_CHECK_SECONDS,
  STATUS_DOMAIN_KEPT_DAYS,
  STATUS_DOMAIN_WAIT_DAYS,
  STATUS_DOMAIN_WAIT_SECONDS,
  STATUS_ENTRIES_MAX,
  STATUS_MAINTENANCE_AHEAD_SECONDS_MAX,
  STATUS_MAINTENANCE_SECONDS_MAX,
  STATUS_MAINTENANCE_SECONDS_MIN,
} from "./limits.ts";

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
  | {
      kind: "incident";
      title: string;
      text: string;
      isResolved: boolean;
      entries: readonly string[];
      at: Instant;
    }
  | {
      kind: "maintenance";
      title: string;
      text: string;
      from: Instant;
      until: Instant;
      entries: readonly string[];
      at: Instant;
    };

/** The field of the request, and a sentence. */
export type StatusProblem = { field: string; text: string };

export const DEFAULT_BRAND: Brand = { background: null, accent: null, ink: null, button: null };

/** Used for tokens that are not set, so that a part of them can be judged. The page has the same. */
const BRAND_DEFAULTS: Readonly<Record<BrandToken, string>> = {
  background: "#1d2433",
  accent: "#33415f",
  ink: "#ffffff",
  button: "#1d2433",
};

/** The least contrast of text, as in WCAG 2 level AA. */
const CONTRAST_MIN = 4.5;

/** Why these colors cannot be used; null if they can. */
export function brandProblem(brand: Brand): StatusProblem | null {
  const ink = brand.ink ?? BRAND_DEFAULTS.ink;
  for (const token of ["background", "accent", "button"] as const) {
    const contrast = contrastOf(ink, brand[token] ?? BRAND_DEFAULTS[token]);
    if (contrast >= CONTRAST_MIN) continue;
    const shown = (Math.floor(contrast * 10) / 10).toFixed(1);
    const text = `Text on the color "${token}" has a contrast of ${shown} to 1. It needs ${CONTRAST_MIN} to 1.`;
    return { field: "brand", text };
  }
  return null;
}

/** The contrast of two colors, from 1 to 21. */
export function contrastOf(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Why these groups cannot be used; null if they can. */
export function groupsProblem(groups: readonly StatusGroup[]): StatusProblem | null {
  const entries = groups.flatMap((group) => group.entries);
  if (entries.length > STATUS_ENTRIES_MAX) {
    return { field: "groups", text: `A page can have at most ${STATUS_ENTRIES_MAX} entries.` };
  }
  if (entries.some(({ name }) => name.trim() === "")) {
    return { field: "groups", text: "Give each entry a public name." };
  }
  if (new Set(entries.map(({ id }) => id)).size < entries.length) {
    return { field: "groups", text: "Two entries have the same ID." };
  }
  return null;
}

/** A host name with a dot whose last label is not a number. */
const DOMAIN =
  /^(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*\.(?!-)(?=[a-z0-9-]*[a-z])[a-z0-9-]{2,63}(?<!-)$/;

/** Why a domain cannot be used; null if it can. `ownHosts`: where this server serves something else. */
export function domainProblem(domain: string, ownHosts: readonly string[]): StatusProblem | null {
  if (!DOMAIN.test(domain)) return { field: "domain", text: "Enter a domain such as status.example.org." };
  if (ownHosts.includes(domain)) {
    return { field: "domain", text: "This is the address of Overdue itself. Use another domain." };
  }
  return null;
}

/** The DNS record that proves a domain. */
export function domainRecord({ name, token }: Pick<StatusDomain, "name" | "token">): {
  name: string;
  value: string;
} {
  return { name: `_overdue.${name}`, value: `overdue-status-page=${token}` };
}

export function domainState({ provedAt, lostAt }: StatusDomain): DomainState {
  if (provedAt === null) return "unproved";
  return lostAt === null ? "proved" : "lost";
}

/** `unknown`: DNS did not answer, which says nothing about the record. */
export type DomainAnswer = "found" | "missing" | "unknown";

export type DomainCheck = Pick<StatusDomain, "provedAt" | "lostAt"> & { checkAt: Instant | null };

/** What is known after DNS was asked, and when to ask again; null: only on request. */
export function afterDomainCheck(
  { provedAt, lostAt }: Pick<StatusDomain, "provedAt" | "lostAt">,
  { answer, now }: { answer: DomainAnswer; now: Instant },
): DomainCheck {
  const soon = now + STATUS_DOMAIN_WAIT_SECONDS * SECOND_MS;
  if (answer === "found") {
    return {
      provedAt: provedAt ?? now,
      lostAt: null,
      checkAt: now + STATUS_DOMAIN_CHECK_SECONDS * SECOND_MS,
    };
  }
  const since = lostAt ?? (answer === "missing" || provedAt === null ? now : null);
  if (provedAt !== null) {
    const isOver = answer === "missing" && since !== null && now - since >= STATUS_DOMAIN_KEPT_DAYS * DAY_MS;
    return isOver
      ? { provedAt: null, lostAt: now, checkAt: soon }
      : { provedAt, lostAt: since, checkAt: soon };
  }
  const isWaiting = now - (since ?? now) < STATUS_DOMAIN_WAIT_DAYS * DAY_MS;
  return { provedAt, lostAt: since, checkAt: isWaiting ? soon : null };
}

/** Why maintenance cannot be planned like this; null if it can. */
export function maintenanceProblem(
  { from, until }: { from: Instant; until: Instant | null },
  now: Instant,
): StatusProblem | null {
  if (until === null) return { field: "until", text: "Give the end of the maintenance." };
  const seconds = (until - from) / SECOND_MS;
  if (seconds < STATUS_MAINTENANCE_SECONDS_MIN || seconds > STATUS_MAINTENANCE_SECONDS_MAX) {
    return { field: "until", text: "Maintenance lasts 1 minute to 30 days." };
  }
  if (from > now + STATUS_MAINTENANCE_AHEAD_SECONDS_MAX * SECOND_MS) {
    return { field: "from", text: "Maintenance can begin at most 1 year from now." };
  }
  return null;
}

/** Why an incident cannot have these times; null if it can. */
export function incidentTimesProblem(
  { from, until }: { from: Instant; until: Instant | null },
  now: Instant,
): StatusProblem | null {
  if (from > now) return { field: "from", text: "An incident can't begin in the future." };
  if (until !== null && (until < from || until > now)) {
    return { field: "until", text: "An incident ends after its beginning, and not in the future." };
  }
  return null;
}

/** What subscribers know about an entry, and a change that has not lasted long enough. */
export type Announced = Readonly<
  Record<string, { state: AnnouncedState; next: { state: AnnouncedState; at: Instant } | null }>
>;
type AnnouncedState = "operational" | "down";

export type Announcement = { entryId: string; from: AnnouncedState; to: AnnouncedState; at: Instant };

/**
 * Compares the states of entries with what subscribers know. Delays are not announced, nor is anything during
 * maintenance. The first state of a new entry is not news.
 */
export function announce(
  known: Announced,
  states: readonly { id: string; state: PublicState }[],
  now: Instant,
): { known: Announced; news: Announcement[] } {
  const news: Announcement[] = [];
  const next = states.map(({ id, state }) => {
    const before = known[id] ?? null;
    const current = announcedState(state);
    if (before === null) {
      return current === null ? null : ([id, { state: current, next: null }] as const);
    }
    if (current === null || current === before.state) return [id, { ...before, next: null }] as const;
    const since = before.next?.at ?? now;
    if (now - since < STATUS_ANNOUNCE_SECONDS * SECOND_MS) {
      return [id, { ...before, next: { state: current, at: since } }] as const;
    }
    news.push({ entryId: id, from: before.state, to: current, at: since });
    return [id, { state: current, next: null }] as const;
  });
  return { known: Object.fromEntries(next.filter((one) => one !== null)), news };
}

function announcedState(state: PublicState): AnnouncedState | null {
  if (state === "down") return "down";
  return state === "operational" || state === "delayed" ? "operational" : null;
}

/** A subscriber and its address: links are bound to both. */
export type SubscriberName = { uuid: string; address: string };

/** Token of the link that confirms or ends a subscription. Nothing of it is stored. */
export function subscriberToken(
  signing: Signer,
  purpose: "statusConfirm" | "statusUnsubscribe",
  { uuid, address }: SubscriberName,
): string {
  return `${uuid}.${signed(signing, purpose, uuid, address)}`;
}

const SUBSCRIBER_TOKEN = /^(?<uuid>[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})\.[\w-]{16,100}$/;

/** The UUID in such a token, before its signature is checked; null: malformed. */
export function subscriberOfToken(token: string): string | null {
  return SUBSCRIBER_TOKEN.exec(token)?.groups?.["uuid"] ?? null;
}

export function isSubscriberToken(
  token: string,
  {
    signing,
    purpose,
    of,
  }: { signing: Signing; purpose: "statusConfirm" | "statusUnsubscribe"; of: SubscriberName },
): boolean {
  return isSigned(token, signing, (signer) => subscriberToken(signer, purpose, of));
}

/** The key of the signatures of a webhook. */
export function webhookSecret(signing: Signer, uuid: string): string {
  return signed(signing, "statusWebhook", uuid);
}

/** The value of the cookie that unlocks one page. A new password makes it invalid. */
export function unlockCookie(signing: Signer, page: { uuid: string; passwordHash: string }): string {
  return signed(signing, "statusUnlock", page.uuid, page.passwordHash);
}

export function isUnlockCookie(
  value: string,
  { signing, page }: { signing: Signing; page: { uuid: string; passwordHash: string } },
): boolean {
  return isSigned(value, signing, (signer) => unlockCookie(signer, page));
}
