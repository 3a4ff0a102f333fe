// A status page as on an eventful night, for tests of rendering and serving.
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from "../../src/core/instant.ts";
import { STATUS_DAYS } from "../../src/core/limits.ts";
import type {
  PublicState,
  StatusView,
  StripDay,
  StripState,
  ViewEntry,
  ViewPost,
} from "../../src/core/status-page.ts";

/** Sunday 25 October 2026, 06:01 in Riga. */
export const NOW: Instant = Date.UTC(2026, 9, 25, 4, 1);

/** `bad` gives the state of days, counted back from today. */
function daysOf(bad: Readonly<Record<number, StripState>>, measured = STATUS_DAYS): StripDay[] {
  return Array.from({ length: STATUS_DAYS }, (_, index) => {
    const back = STATUS_DAYS - 1 - index;
    const state = back >= measured ? "none" : (bad[back] ?? "up");
    const downMs = { up: 0, none: 0, brief: 12 * MINUTE_MS, down: 2 * HOUR_MS }[state];
    const day = new Date(NOW - back * DAY_MS).toISOString().slice(0, "2026-10-25".length);
    return { day, state, downMs, share: state === "none" ? null : 1 - downMs / DAY_MS };
  });
}

type EntryOptions = {
  state?: PublicState;
  uptime?: number | null;
  bad?: Readonly<Record<number, StripState>>;
};

export function entry(
  name: string,
  { state = "operational", uptime = 1, bad = {} }: EntryOptions = {},
): ViewEntry {
  return { name, description: "", state, uptime, measuredSince: null, days: daysOf(bad) };
}

const FIRST_NOTE = {
  id: "1f09d2b4-08c5-4e0d-9a0c-2d0f4a6b9e51",
  at: NOW - 11 * MINUTE_MS,
  text: "We’ve noticed. New invoices wait in a queue. None are lost, and payments still work.",
};

export const OPEN_INCIDENT: ViewPost = {
  id: "1f09d2b4-08c5-4e0d-9a0c-2d0f4a6b9e50",
  title: "Invoices are not being sent",
  from: NOW - 12 * MINUTE_MS,
  until: null,
  entries: ["Invoices", "Payouts"],
  notes: [
    {
      id: "1f09d2b4-08c5-4e0d-9a0c-2d0f4a6b9e52",
      at: NOW - 3 * MINUTE_MS,
      text: "We’re on it. A database server stopped answering. We’re moving invoices to its standby.",
    },
    FIRST_NOTE,
  ],
  updatedAt: NOW - 3 * MINUTE_MS,
};

export const SAMPLE_VIEW: StatusView = {
  slug: "nordlight",
  title: "Nordlight",
  description: "State of the Nordlight shop, billing and data services.",
  zone: "Europe/Riga",
  brand: { background: null, accent: null, ink: null, button: null },
  logo: null,
  domain: null,
  state: "down",
  groups: [
    {
      name: "Shop",
      state: "operational",
      entries: [
        entry("Storefront", { uptime: 0.99994 }),
        entry("Search", { uptime: 0.9981, bad: { 49: "down", 28: "brief", 1: "brief" } }),
        entry("Checkout", { uptime: 0.9997, bad: { 37: "brief" } }),
      ],
    },
    {
      name: "Accounts and billing",
      state: "down",
      entries: [
        entry("Sign-in"),
        entry("Invoices", { state: "down", uptime: 0.9942, bad: { 56: "down", 18: "brief", 0: "down" } }),
        entry("Payouts", { state: "delayed", uptime: 0.9988, bad: { 25: "brief" } }),
      ],
    },
    {
      name: "Data",
      state: "operational",
      entries: [
        entry("Reports", { uptime: 0.999, bad: { 42: "brief", 41: "down" } }),
        { ...entry("Backups"), days: daysOf({}, 59), measuredSince: "2026-08-28" },
      ],
    },
  ],
  openIncidents: [OPEN_INCIDENT],
  pastIncidents: [
    {
      id: "1f09d2b4-08c5-4e0d-9a0c-2d0f4a6b9e53",
      title: "Search results were out of date",
      from: NOW - DAY_MS + 9 * HOUR_MS + 30 * MINUTE_MS,
      until: NOW - DAY_MS + 10 * HOUR_MS + 3 * MINUTE_MS,
      entries: ["Search"],
      notes: [
        {
          id: "1f09d2b4-08c5-4e0d-9a0c-2d0f4a6b9e54",
          at: NOW - DAY_MS + 10 * HOUR_MS,
          text: "New products did not appear in search for 33 minutes. The index was waiting for a backup; the two no longer run at the same time.",
        },
      ],
      updatedAt: NOW - DAY_MS + 10 * HOUR_MS,
    },
  ],
  maintenance: [
    {
      id: "1f09d2b4-08c5-4e0d-9a0c-2d0f4a6b9e55",
      title: "Database upgrade",
      from: Date.UTC(2026, 9, 28, 0, 0),
      until: Date.UTC(2026, 9, 28, 3, 0),
      entries: ["Reports"],
      notes: [
        {
          id: "1f09d2b4-08c5-4e0d-9a0c-2d0f4a6b9e56",
          at: NOW - DAY_MS,
          text: "Reports may arrive up to three hours late. Shop and checkout stay open.",
        },
      ],
      updatedAt: NOW - DAY_MS,
    },
  ],
  pastMaintenance: [],
  at: NOW,
  refreshAt: NOW + MINUTE_MS,
};
