// Feeds of status pages: complete, stable, and without markup of users.
import { expect, test } from "vitest";
import { NOW, OPEN_INCIDENT, SAMPLE_VIEW } from "./sample-view.ts";
import type { StatusView } from "../../src/core/status-page.ts";
import { atomFeed, rssFeed, statusJson } from "../../src/services/status/feeds.ts";

const OPTIONS = { url: "https://overdue.example.org/status/nordlight/", confirmedAt: NOW, isStale: false };

/** The names of elements in the order in which they are closed; throws if one is not. */
function elementsOf(xml: string): string[] {
  const open: string[] = [];
  const closed: string[] = [];
  for (const [, end, name = "", , selfClosing] of xml.matchAll(
    /<(\/?)([a-zA-Z:]+)((?:\s+[\w:]+="[^"<]*")*)\s*(\/?)>/g,
  )) {
    if (end === "/") {
      expect(open.pop()).toBe(name);
      closed.push(name);
    } else if (selfClosing === "/") closed.push(name);
    else open.push(name);
  }
  expect(open).toEqual([]);
  return closed;
}

const FORMS = { Atom: atomFeed, RSS: rssFeed };

test.each(Object.entries(FORMS))(
  "%s has an entry for each incident and maintenance, newest first",
  (name, feed) => {
    const xml = feed(SAMPLE_VIEW, OPTIONS);
    const item = name === "Atom" ? "entry" : "item";
    expect(elementsOf(xml).filter((one) => one === item)).toHaveLength(3);
    const titles = [...xml.matchAll(/<title>([^<]*)<\/title>/g)].map(([, title]) => title);
    expect(titles).toEqual([
      "Nordlight",
      "Invoices are not being sent",
      "Resolved: Search results were out of date",
      "Maintenance: Database upgrade",
    ]);
    expect(xml).toContain("urn:uuid:1f09d2b4-08c5-4e0d-9a0c-2d0f4a6b9e50");
    // The same page gives the same bytes, so that readers get 304.
    expect(feed(SAMPLE_VIEW, { ...OPTIONS, confirmedAt: NOW + 60_000 })).toBe(xml);
  },
);

const HOSTILE = `]]></title><script>alert(1)</script>"'&\u0000\u0008\ud800`;

test.each(Object.entries(FORMS))("%s stays well-formed with any text", (_name, feed) => {
  const hostile = {
    ...OPEN_INCIDENT,
    title: HOSTILE,
    entries: [HOSTILE],
    notes: [{ id: "x", at: NOW, text: HOSTILE }],
  };
  const view: StatusView = {
    ...SAMPLE_VIEW,
    title: HOSTILE,
    openIncidents: [hostile],
    pastIncidents: [],
    maintenance: [],
  };
  const xml = feed(view, OPTIONS);
  elementsOf(xml);
  expect(xml).not.toContain("<script");
  for (const sign of ["\u0000", "\u0008", "\ud800"]) expect(xml.includes(sign)).toBe(false);
  // Readers show the content as HTML: there it is a text, too.
  expect(xml).toContain("&amp;lt;script&amp;gt;");
});

test("JSON has the states of entries and days, and no more than the page shows", () => {
  const json = JSON.parse(statusJson(SAMPLE_VIEW, OPTIONS)) as Record<string, unknown>;
  expect(Object.keys(json)).toEqual([
    "title",
    "description",
    "url",
    "state",
    "summary",
    "timeZone",
    "updatedAt",
    "isStale",
    "groups",
    "incidents",
    "maintenance",
  ]);
  expect(json).toMatchObject({
    state: "down",
    summary: "Invoices are not being sent",
    updatedAt: "2026-10-25T04:01:00.000Z",
    isStale: false,
    groups: [
      { name: "Shop", state: "operational", entries: [{ name: "Storefront", uptime: 0.99994 }, {}, {}] },
      {},
      {},
    ],
  });
});
