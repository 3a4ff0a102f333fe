// The timeline of an incident: its alerts, notifications and events, in the order in which they happened.
import type { Incident, IncidentAlert, IncidentDelivery } from "../../src/contract/api/incidents.ts";
import { listNames } from "../../src/contract/api/words.ts";
import { formatDuration, plural } from "../words/format.ts";
import { actorName, incidentWords as words } from "../words/incidents.ts";

/** How the line from one entry to the next is drawn. */
type Line = "open" | "handled" | "over";

/** One notification: how long it took to be delivered, or null if it was not. */
export type Hop = { id: number; delivery: IncidentDelivery; tookMs: number | null };

export type StoryEntry = {
  key: string;
  at: number;
  mark: "down" | "up" | "acknowledged" | "bead";
  title: string;
  text: string | null;
  hops: readonly Hop[];
  line: Line;
};

type Entry = Omit<StoryEntry, "line">;

/** Alerts and notifications within this time are one entry. */
const TOGETHER_MS = 60_000;
const NAMES_SHOWN = 5;

/** Oldest first. */
export function storyOf(incident: Incident): StoryEntry[] {
  const entries = [
    ...alertEntries(incident.alerts),
    ...deliveryEntries(incident),
    ...eventEntries(incident),
    ...incident.notes.map(({ id, at, by, text }) =>
      entry({ key: `note ${id}`, at, mark: "bead", title: words.noted(actorName(by)), text }),
    ),
  ].toSorted((a, b) => a.at - b.at);
  let line: Line = "open";
  return entries.map((one) => {
    line = lineAfter(one, line);
    return { ...one, line };
  });
}

function entry(given: Pick<Entry, "key" | "at" | "mark" | "title"> & Partial<Entry>): Entry {
  return { text: null, hops: [], ...given };
}

function lineAfter({ key }: Entry, before: Line): Line {
  const [, kind] = key.match(/^event (\w+)/) ?? [];
  if (kind === "acknowledged") return "handled";
  if (kind === "resolved") return "over";
  return kind === undefined || kind === "severityRaised" || kind === "flapping" ? before : "open";
}

/** Alerts of the same cause that opened or closed together are one entry. */
function alertEntries(alerts: readonly IncidentAlert[]): Entry[] {
  const opened = together(alerts.map((alert) => ({ at: alert.openedAt, key: alert.cause, alert }))).map(
    ({ at, key, items }) => {
      const [first] = items;
      const title = words.opened(whatOf(items), key, items.length > 1);
      return entry({ key: `opened ${first?.alert.id}`, at, mark: "down", title, text: aboutAlerts(items) });
    },
  );
  const closed = together(
    alerts.flatMap((alert) => {
      const { closedAt, closeCause } = alert;
      return closedAt === null || closeCause === null ? [] : [{ at: closedAt, key: closeCause, alert }];
    }),
  ).map(({ at, key, items }) => {
    const [first] = items;
    const mark = key === "recovered" || key === "takenBack" ? ("up" as const) : ("bead" as const);
    const title = words.closed(whatOf(items), key, items.length > 1);
    return entry({ key: `closed ${first?.alert.id}`, at, mark, title, text: namesOf(items) });
  });
  return [...opened, ...closed];
}

type Timed<Key> = { at: number; key: Key };

/** Items with the same key, each at most a minute after the first. */
function together<Key, Item extends Timed<Key>>(
  items: readonly (Item & Timed<Key>)[],
): { at: number; key: Key; items: (Item & Timed<Key>)[] }[] {
  const groups: { at: number; key: Key; items: (Item & Timed<Key>)[] }[] = [];
  for (const item of items.toSorted((a, b) => a.at - b.at)) {
    const group = groups.findLast(({ key }) => key === item.key);
    if (group !== undefined && item.at - group.at <= TOGETHER_MS) group.items.push(item);
    else groups.push({ at: item.at, key: item.key, items: [item] });
  }
  return groups;
}

type Alerted = { alert: IncidentAlert };

function checkNameOf({ alert: { check } }: Alerted): string {
  return check === null ? words.deletedCheck : check.name === "" ? "unnamed" : check.name;
}

function whatOf(items: readonly Alerted[]): string {
  const [first] = items;
  return items.length === 1 && first !== undefined ? checkNameOf(first) : plural(items.length, "check");
}

function namesOf(items: readonly Alerted[]): string | null {
  return items.length === 1 ? null : listNames(items.map(checkNameOf), NAMES_SHOWN);
}

function aboutAlerts(items: readonly Alerted[]): string | null {
  const rules = [...new Set(items.flatMap(({ alert }) => alert.rule ?? []))].map(words.rule);
  const parts = [namesOf(items), ...rules].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join(". ");
}

type Said = "problem" | "recovery" | "repeat" | "correction";

const SAID: Readonly<Record<Said, (count: number) => string>> = {
  problem: words.notified,
  recovery: words.notifiedRecovery,
  repeat: words.reminded,
  correction: words.corrected,
};

/** Notifications that were sent together; those that were canceled or skipped are not told. */
function deliveryEntries({ deliveries, alerts }: Incident): Entry[] {
  const told = deliveries
    .filter(({ state }) => state !== "withdrawn" && state !== "skipped" && state !== "merged")
    .map((delivery) => ({ at: delivery.createdAt, key: saidIn(delivery, alerts), delivery }));
  return together(told).map(({ at, key, items }) => {
    const hops = items.map(({ delivery }) => hopOf(delivery));
    const slowest = Math.max(...hops.map(({ tookMs }) => tookMs ?? 0));
    return entry({
      key: `sent ${items[0]?.delivery.id}`,
      at,
      mark: "bead",
      title: SAID[key](new Set(items.map(({ delivery }) => delivery.channel?.id)).size),
      text: slowest > 0 ? words.slowest(formatDuration(slowest)) : null,
      hops,
    });
  });
}

function hopOf(delivery: IncidentDelivery): Hop {
  const { id, state, settledAt, createdAt } = delivery;
  return {
    id,
    delivery,
    tookMs: state === "sent" && settledAt !== null ? Math.max(0, settledAt - createdAt) : null,
  };
}

/** A message is about the last change of its check before it was planned. */
function saidIn({ kind, check, createdAt }: IncidentDelivery, alerts: readonly IncidentAlert[]): Said {
  if (kind === "repeat" || kind === "correction") return kind;
  const before = alerts.filter(
    (alert) => alert.openedAt <= createdAt && (check === null || alert.check?.id === check.id),
  );
  const isOver =
    before.length > 0 && before.every(({ closedAt }) => closedAt !== null && closedAt <= createdAt);
  return isOver ? "recovery" : "problem";
}

function eventEntries({ events }: Incident): Entry[] {
  return events.map(({ id, at, kind, by }) =>
    entry({
      key: `event ${kind} ${id}`,
      at,
      mark:
        kind === "acknowledged"
          ? "acknowledged"
          : kind === "resolved"
            ? "up"
            : kind === "reopened"
              ? "down"
              : "bead",
      title: words.event(kind),
      text: by === null ? null : words.by(actorName(by)),
    }),
  );
}

/** How many channels were sent something. */
export function notifiedChannels({ deliveries }: Incident): number {
  return new Set(
    deliveries
      .filter(({ state }) => state === "sent" || state === "merged")
      .map(({ channel }) => channel?.id),
  ).size;
}
