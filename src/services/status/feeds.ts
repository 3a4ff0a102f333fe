// The feeds of a status page: Atom, RSS and JSON. One entry for each published incident and maintenance.
import type { StatusView, ViewPost } from "../../core/status-page.ts";
import { escapeHtml } from "../../lib/http/html.ts";
import type { Freshness } from "./board.ts";
import { pageTimes } from "./times.ts";
import { stateTitle } from "./words.ts";

/** `url`: the address of the page, with a slash at the end. */
export type FeedOptions = Freshness & { url: string };

type Item = { post: ViewPost; kind: "incident" | "maintenance" };

/** Entries of a feed; readers keep older ones themselves. */
const ITEMS_MAX = 50;

function itemsOf(view: StatusView): Item[] {
  const incidents = [...view.openIncidents, ...view.pastIncidents];
  const works = [...view.maintenance, ...view.pastMaintenance];
  return [
    ...incidents.map((post): Item => ({ post, kind: "incident" })),
    ...works.map((post): Item => ({ post, kind: "maintenance" })),
  ]
    .toSorted((one, other) => other.post.updatedAt - one.post.updatedAt)
    .slice(0, ITEMS_MAX);
}

/** Characters that XML does not allow, even escaped. */
const NOT_XML = /(?![\t\n\r])\p{Cc}|[\ufffe\uffff]/gu;

function xml(text: string): string {
  return escapeHtml(text.toWellFormed().replace(NOT_XML, "\ufffd"));
}

/** The notes as HTML, newest first, which is then escaped once more as the text of an element. */
function contentOf({ post, kind }: Item, view: StatusView): string {
  const times = pageTimes(view.zone);
  const zone = times.zoneName(post.from);
  const when =
    kind === "maintenance" && post.until !== null
      ? [`<p>${times.range(post.from, post.until)} ${zone}</p>`]
      : [];
  const entries = post.entries.length === 0 ? [] : [`<p>${escapeHtml(post.entries.join(", "))}</p>`];
  const notes = post.notes.map(
    ({ at, text }) =>
      `<p><b>${times.moment(at)} ${zone}</b><br>${escapeHtml(text).replaceAll("\n", "<br>")}</p>`,
  );
  return xml([...when, ...entries, ...notes].join(""));
}

function titleOf({ post, kind }: Item): string {
  if (kind === "maintenance") return `Maintenance: ${post.title}`;
  return post.until === null ? post.title : `Resolved: ${post.title}`;
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

export function atomFeed(view: StatusView, { url }: FeedOptions): string {
  const items = itemsOf(view);
  const updatedAt = items[0]?.post.updatedAt ?? 0;
  const entries = items.map(
    (item) =>
      `<entry><id>urn:uuid:${xml(item.post.id)}</id><title>${xml(titleOf(item))}</title><link href="${xml(url)}"/><published>${iso(item.post.from)}</published><updated>${iso(item.post.updatedAt)}</updated><content type="html">${contentOf(item, view)}</content></entry>`,
  );
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><id>${xml(url)}</id><title>${xml(view.title)}</title><subtitle>${xml(stateTitle(view))}</subtitle><link href="${xml(url)}"/><link rel="self" type="application/atom+xml" href="${xml(url)}feed.atom"/><author><name>${xml(view.title)}</name></author><updated>${iso(updatedAt)}</updated>
${entries.join("\n")}
</feed>
`;
}

export function rssFeed(view: StatusView, { url }: FeedOptions): string {
  const items = itemsOf(view).map(
    (item) =>
      `<item><guid isPermaLink="false">urn:uuid:${xml(item.post.id)}</guid><title>${xml(titleOf(item))}</title><link>${xml(url)}</link><pubDate>${new Date(item.post.updatedAt).toUTCString()}</pubDate><description>${contentOf(item, view)}</description></item>`,
  );
  return `<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>${xml(view.title)}</title><link>${xml(url)}</link><description>${xml(stateTitle(view))}</description><atom:link rel="self" type="application/rss+xml" href="${xml(url)}feed.rss"/><ttl>5</ttl>
${items.join("\n")}
</channel></rss>
`;
}

const postJson = ({ id, title, from, until, entries, notes, updatedAt }: ViewPost) => ({
  id,
  title,
  from: iso(from),
  until: until === null ? null : iso(until),
  entries,
  notes: notes.map(({ id: noteId, at, text }) => ({ id: noteId, at: iso(at), text })),
  updatedAt: iso(updatedAt),
});

/** Documented: fields are only ever added. */
export function statusJson(view: StatusView, { url, confirmedAt, isStale }: FeedOptions): string {
  return JSON.stringify({
    title: view.title,
    description: view.description,
    url,
    state: view.state,
    summary: stateTitle(view),
    timeZone: view.zone,
    updatedAt: iso(confirmedAt),
    isStale,
    groups: view.groups.map(({ name, state, entries }) => ({
      name,
      state,
      entries: entries.map(({ name: entryName, description, state: entryState, uptime, days }) => ({
        name: entryName,
        description,
        state: entryState,
        uptime,
        days: days.map(({ day, state: dayState, downMs }) => ({ day, state: dayState, downMs })),
      })),
    })),
    incidents: [...view.openIncidents, ...view.pastIncidents].map(postJson),
    maintenance: [...view.maintenance, ...view.pastMaintenance].map(postJson),
  });
}
