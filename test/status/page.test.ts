// Status pages as HTML: what they say in each state, and that texts of users stay texts.
import { expect, test } from "vitest";
import { DAY_MS, MINUTE_MS } from "../../src/core/instant.ts";
import type { PublicState, StatusView } from "../../src/core/status-page.ts";
import { entry, NOW, OPEN_INCIDENT, SAMPLE_VIEW } from "./sample-view.ts";
import { type PageOptions, renderCard, renderStatusPage } from "../../src/services/status/page.ts";
import { brandStyle } from "../../src/services/status/style.ts";
import { percentText, stateLead, stateTitle } from "../../src/services/status/words.ts";

const OPTIONS: PageOptions = {
  now: NOW,
  confirmedAt: NOW,
  isStale: false,
  siteName: "Overdue",
  fontName: null,
  hasEmail: true,
  hasFeeds: true,
};

function pageOf(change: Partial<StatusView>, options: Partial<PageOptions> = {}): string {
  return renderStatusPage({ ...SAMPLE_VIEW, ...change }, { ...OPTIONS, ...options }).text;
}

function inState(...states: PublicState[]): StatusView {
  const entries = states.map((state, index) => entry(`Service ${index + 1}`, { state }));
  const groups = [{ name: "All", state: "operational" as const, entries }];
  return { ...SAMPLE_VIEW, groups, openIncidents: [], maintenance: [] };
}

test.each<[string, PublicState[], string]>([
  ["Everything is working", ["operational", "operational"], "All 2 services are operational."],
  ["Everything is working", ["operational"], "The service is operational."],
  ["Outage: Service 1", ["down", "operational"], "Everything else works."],
  ["Outage: Service 1 and Service 2", ["down", "down"], ""],
  ["3 services are not working", ["down", "down", "down", "operational"], "Everything else works."],
  ["Delays: Service 2", ["operational", "delayed"], "Everything else works."],
  ["Outage: Service 1", ["down", "delayed"], "Delayed: Service 2."],
  [
    "Maintenance in progress",
    ["maintenance", "operational"],
    "Under maintenance: Service 1. Everything else works.",
  ],
  ["No data yet", ["unknown"], ""],
  ["No data yet", [], ""],
])("The title is the state: %s", (title, states, lead) => {
  expect(stateTitle(inState(...states))).toBe(title);
  expect(stateLead(inState(...states))).toBe(lead);
});

test("A single open incident gives the page its title", () => {
  expect(stateTitle(SAMPLE_VIEW)).toBe("Invoices are not being sent");
  expect(stateLead(SAMPLE_VIEW)).toBe("Not working: Invoices. Delayed: Payouts. Everything else works.");
  const text = pageOf({});
  expect(text).toContain("<title>Nordlight: Invoices are not being sent</title>");
  expect(text).toContain("<h1>Invoices are not being sent</h1>");
});

test("Shares are never rounded up to 100 %", () => {
  expect(percentText(1)).toBe("100 %");
  expect(percentText(0.999_999)).toBe("99.99 %");
  expect(percentText(0.5)).toBe("50.00 %");
  expect(percentText(0)).toBe("0.00 %");
});

test("Worse days have shorter bars, and are also a list", () => {
  const text = pageOf({});
  // 24 October is the last but one of 90 days.
  expect(text).toContain(
    '<path class="l" d="M528 11h4v19h-4z"><title>24 Oct: short outage, 12 min</title></path>',
  );
  expect(text).toContain("<li>25 Oct: outage, 2 h</li>");
  expect(text).toContain('aria-label="90 days: no outages"');
  expect(text).toContain('aria-label="90 days: 3 with outages"');
  expect(text).toContain("since 28 Aug · 100 %");
});

test("Incidents, maintenance and quiet days are listed in the zone of the page", () => {
  const text = pageOf({});
  expect(text).toContain("<span>Invoices and Payouts, since 05:49</span>");
  expect(text).toContain("Database upgrade, Wed 28 Oct, 02:00 to 05:00 EET");
  expect(text).toContain("<b>Today, 25 Oct</b>");
  expect(text).toContain("<b>12 to 23 Oct</b>");
  expect(text).toContain("16:31 to 17:04 · resolved");
  expect(text).toContain("Last updated 06:01 EET");
  expect(pageOf({ openIncidents: [], pastIncidents: [] })).toContain("No incidents have been published.");
  const now = Date.UTC(2026, 9, 28, 1, 0);
  expect(pageOf({}, { now })).toContain("Database upgrade, now, Wed 28 Oct, 02:00 to 05:00 EET");
});

test("While the database is unavailable, the page says since when", () => {
  const isStale = { isStale: true, confirmedAt: NOW - 7 * MINUTE_MS };
  expect(pageOf({}, isStale)).toContain("Not updated since 05:54 EET. The current state may be different.");
  const old = { isStale: true, confirmedAt: NOW - 2 * DAY_MS };
  expect(pageOf({}, old)).toContain("Not updated since Fri 23 Oct, 07:01 EEST.");
  expect(pageOf({})).not.toContain("Not updated since");
});

test("Feeds and the form are left out where they cannot be used", () => {
  expect(pageOf({})).toContain('<form method="post" action="subscribe">');
  expect(pageOf({}, { hasEmail: false })).not.toContain("<form");
  const bare = pageOf({}, { hasEmail: false, hasFeeds: false });
  expect(bare).not.toContain("feed.atom");
  expect(bare).not.toContain("<details");
});

const HOSTILE = `</title><script>alert(1)</script><img src=x onerror="x">'"&\u202e`;

test("Texts of users are never markup", () => {
  const post = { ...OPEN_INCIDENT, title: HOSTILE, entries: [HOSTILE] };
  const hostile = { ...post, notes: [{ id: "x", at: NOW, text: HOSTILE }] };
  const view: StatusView = {
    ...SAMPLE_VIEW,
    title: HOSTILE,
    description: HOSTILE,
    logo: { type: "image/png", digest: HOSTILE },
    groups: [
      { name: HOSTILE, state: "down", entries: [{ ...entry(HOSTILE), description: HOSTILE, state: "down" }] },
    ],
    openIncidents: [hostile],
    pastIncidents: [{ ...hostile, until: NOW }],
    maintenance: [{ ...hostile, until: NOW + DAY_MS }],
    pastMaintenance: [{ ...hostile, until: NOW }],
  };
  const { text } = renderStatusPage(view, OPTIONS);
  const card = renderCard(
    view,
    { title: HOSTILE, sentences: [HOSTILE] },
    { base: "../", fontName: null },
  ).text;
  for (const shown of [text, card]) {
    expect(shown).not.toMatch(/<script|<img src=x|onerror="/);
    expect(shown).toContain("&lt;script&gt;");
  }
});

test("A page has no script, and only its own style is allowed", () => {
  const { text, policy } = renderStatusPage(SAMPLE_VIEW, OPTIONS);
  expect(text).not.toMatch(/<script| style=| on[a-z]+=/);
  expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]+='; /);
  expect(policy).not.toContain("script-src");
});

test("A brand sets colors of the header and the button, and nothing else", () => {
  const evil = { background: "red}body{display:none", accent: "#12345", ink: null, button: "#00ff00" };
  expect(brandStyle(evil)).toBe(
    ":root{--brand:#252650;--brand-2:#5a4aa8;--brand-3:#1d7a8c;--brand-ink:#ffffff;--brand-button:#00ff00}",
  );
});
