// The URLs in responses, made from the published base URLs.
import type { VersionNumber } from "./versions.ts";

/** The published addresses, each without a slash at its end. */
export type PublicUrls = {
  site: string;
  /** What stands in front of the UUID of a check that is pinged. */
  ping: string;
  /** The host of version 3, if it has one of its own. */
  api: string | null;
};

export type PublishedAddresses = { siteUrl: string; pingUrl: string | null; apiUrl: string | null };

/** The addresses of an installation as its settings name them. */
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

/** Where a version of the API begins. Only version 3 lives on the API's own host. */
export function apiBase({ site, api }: PublicUrls, version: VersionNumber): string {
  return version === 3 && api !== null ? `${api}/v3` : `${site}/api/v${version}`;
}

export type CheckUrls = Readonly<Record<"update" | "pause" | "resume", (uuid: string) => string>>;

/** The addresses of any check in a version of the API. */
export function checkUrls(urls: PublicUrls, version: VersionNumber): CheckUrls {
  const checks = `${apiBase(urls, version)}/checks`;
  return {
    update: (uuid) => `${checks}/${uuid}`,
    pause: (uuid) => `${checks}/${uuid}/pause`,
    resume: (uuid) => `${checks}/${uuid}/resume`,
  };
}

/** Where the job of a check sends its signals: always by UUID. */
export function pingUrl({ ping }: PublicUrls, uuid: string): string {
  return `${ping}/${uuid}`;
}

/** Where the logged body of a ping is read. */
export function bodyUrl(urls: PublicUrls, of: { version: VersionNumber; uuid: string; n: number }): string {
  return `${apiBase(urls, of.version)}/checks/${of.uuid}/pings/${of.n}/body`;
}

/** The badge of one check, of two states. */
export function checkBadgeUrl({ site }: PublicUrls, badgeUuid: string): string {
  return `${site}/b/2/${badgeUuid}.svg`;
}

/**
 * The badge of a tag or, with null, of a whole project. `signature` is the segment that core/badge.ts makes, and
 * `tagSegment` the tag as that file encodes it.
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
