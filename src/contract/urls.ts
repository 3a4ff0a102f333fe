// The URLs in responses, made from the published base URLs.
import type { VersionNumber } from "./versions.ts";

/** The published URLs, each without a trailing slash. */
export type PublicUrls = {
  site: string;
  /** The part of a ping URL before the UUID. */
  ping: string;
  /** The separate host of version 3, if there is one. */
  api: string | null;
};

export type PublishedAddresses = { siteUrl: string; pingUrl: string | null; apiUrl: string | null };

/** The URLs of a server according to its settings. */
export function publicUrls(published: PublishedAddresses): PublicUrls {
  const site = withoutSlash(published.siteUrl);
  return {
    site,
    ping: published.pingUrl === null ? `${site}/ping` : withoutSlash(published.pingUrl),
    api: published.apiUrl === null ? null : withoutSlash(published.apiUrl),
  };
}

function withoutSlash(url: string): string {
  return url.replace(/(?<!\/)\/+$/, "");
}

/** The base URL of a version of the API. Only version 3 is on the API's own host. */
export function apiBase({ site, api }: PublicUrls, version: VersionNumber): string {
  return version === 3 && api !== null ? `${api}/v3` : `${site}/api/v${version}`;
}

export type CheckUrls = Readonly<Record<"update" | "pause" | "resume", (uuid: string) => string>>;

/** The URLs of a check in a version of the API. */
export function checkUrls(urls: PublicUrls, version: VersionNumber): CheckUrls {
  const checks = `${apiBase(urls, version)}/checks`;
  return {
    update: (uuid) => `${checks}/${uuid}`,
    pause: (uuid) => `${checks}/${uuid}/pause`,
    resume: (uuid) => `${checks}/${uuid}/resume`,
  };
}

/** The ping URL of a check, always by UUID. */
export function pingUrl({ ping }: PublicUrls, uuid: string): string {
  return `${ping}/${uuid}`;
}

/** The URL of the logged body of a ping. */
export function bodyUrl(urls: PublicUrls, of: { version: VersionNumber; uuid: string; n: number }): string {
  return `${apiBase(urls, of.version)}/checks/${of.uuid}/pings/${of.n}/body`;
}

/** The badge of one check, with two states. */
export function checkBadgeUrl({ site }: PublicUrls, badgeUuid: string): string {
  return `${site}/b/2/${badgeUuid}.svg`;
}

/**
 * The badge of a tag or, with null, of a project. `signature` is the segment made by core/badge.ts, and `tagSegment`
 * the tag as encoded there.
 */
export function tagBadgeUrl(
  { site }: PublicUrls,
  badge: {
    badgeKey: string;
    signature: string;
    tagSegment: string | null;
    format: "svg" | "json" | "shields";
  },
): string {
  const { badgeKey, signature, tagSegment, format } = badge;
  const tag = tagSegment === null ? "" : `/${tagSegment}`;
  return `${site}/badge/${badgeKey}/${signature}${tag}.${format}`;
}

/** The calendar feed with this token. */
export function calendarUrl({ site }: PublicUrls, token: string): string {
  return `${site}/calendar/${token}.ics`;
}
