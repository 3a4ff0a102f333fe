// URLs in responses, by the published base URLs.
import { expect, test } from "vitest";
import { apiBase, bodyUrl, checkUrls, pingUrl, publicUrls, tagBadgeUrl } from "./urls.ts";

const PLAIN = publicUrls({ siteUrl: "https://example.org", pingUrl: null, apiUrl: null });
const APART = publicUrls({
  siteUrl: "https://example.org/",
  pingUrl: "https://ping.example.org/",
  apiUrl: "https://api.example.org/rest/",
});

test("everything is on the site unless configured otherwise", () => {
  const { update, pause, resume } = checkUrls(PLAIN, 3);
  expect([pingUrl(PLAIN, "u"), update("u"), pause("u"), resume("u")]).toEqual([
    "https://example.org/ping/u",
    "https://example.org/api/v3/checks/u",
    "https://example.org/api/v3/checks/u/pause",
    "https://example.org/api/v3/checks/u/resume",
  ]);
});

test("version 3 has the API's host, the others stay on the site", () => {
  expect([1, 2, 3].map((version) => apiBase(APART, version as 1 | 2 | 3))).toEqual([
    "https://example.org/api/v1",
    "https://example.org/api/v2",
    "https://api.example.org/rest/v3",
  ]);
  expect(pingUrl(APART, "u")).toBe("https://ping.example.org/u");
  expect(bodyUrl(APART, { version: 3, uuid: "u", n: 7 })).toBe(
    "https://api.example.org/rest/v3/checks/u/pings/7/body",
  );
});

test("a project's badge has no tag in its URL", () => {
  const badge = { badgeKey: "key", signature: "sig-2", format: "svg" } as const;
  expect(tagBadgeUrl(PLAIN, { ...badge, tagSegment: "db%2540" })).toBe(
    "https://example.org/badge/key/sig-2/db%2540.svg",
  );
  expect(tagBadgeUrl(PLAIN, { ...badge, tagSegment: null })).toBe("https://example.org/badge/key/sig-2.svg");
});
