// A status page as HTML. It has no script, loads only its logo and font, and follows the theme of the system. All texts
// of users are escaped by the template.
import { createHash } from "node:crypto";
import { listNames } from "../../contract/api/words.ts";
import { downtimeText } from "../../core/duration-text.ts";
import { DAY_MS, type Instant, SECOND_MS } from "../../core/instant.ts";
import type { StatusView, StripDay, StripState, ViewEntry, ViewPost } from "../../core/status-page.ts";
import { type Html, html, ICON_HREF, trusted } from "../../lib/http/html.ts";
import type { Freshness } from "./board.ts";
import { stateShape } from "./shapes.ts";
import { brandStyle, fontStyle, STATUS_STYLE } from "./style.ts";
import { type PageTimes, pageTimes } from "./times.ts";
import {
  DAY_WORDS,
  PAGE_WORDS as words,
  percentText,
  shownState,
  STATE_WORDS,
  stateLead,
  stateTitle,
} from "./words.ts";

export type PageOptions = Freshness & {
  now: Instant;
  /** The name of the server. */
  siteName: string;
  /** The file name of the font below the page; null: the font of the system. */
  fontName: string | null;
  /** Whether emails can be sent to subscribers. */
  hasEmail: boolean;
  /** Whether feeds can be read without a cookie. */
  hasFeeds: boolean;
};

export type RenderedPage = { text: string; policy: string };

export function renderStatusPage(view: StatusView, options: PageOptions): RenderedPage {
  const { now, siteName, fontName, hasFeeds } = options;
  const times = pageTimes(view.zone);
  const title = stateTitle(view);
  const lead = stateLead(view);
  const body = html`${hero(view, "", html`<nav><a href="#past">${words.history}</a></nav>`)}
<main class="wrap" id="content">
<section class="now">${stateShape(shownState(view), 40)}<h1>${title}</h1>${updates(options)}${lead !== "" && html`<p>${lead}</p>`}</section>
${under(view, { times, options })}
${view.openIncidents.map((post) => liveIncident(post, { title, times, now }))}
${view.maintenance.map((post) => plannedWork(post, { times, now }))}
${groups(view)}
${past(view, { times, now })}
<footer><span>${words.times(times.zoneName(now))}</span><span>${words.measured(siteName)}</span></footer>
</main>`;
  const feeds =
    hasFeeds &&
    html`<link rel="alternate" type="application/atom+xml" href="feed.atom" title="${view.title}">
<link rel="alternate" type="application/rss+xml" href="feed.rss" title="${view.title}">
`;
  return layout({
    title: `${view.title}: ${title}`,
    head: html`<meta name="description" content="${view.description === "" ? title : view.description}">
${feeds}`,
    style: fontStyle(fontName) + brandStyle(view.brand) + STATUS_STYLE,
    body,
  });
}

type Layout = { title: string; head: Html; style: string; body: Html };

function layout({ title, head, style, body }: Layout): RenderedPage {
  const text = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" type="image/svg+xml" href="${ICON_HREF}">
${head}<style>${trusted(style)}</style>
</head>
<body>
<a class="skip" href="#content">${words.skip}</a>
${body}
</body>
</html>
`.source;
  return { text, policy: policyFor(style) };
}

function policyFor(style: string): string {
  return [
    "default-src 'none'",
    `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** `base`: how to get from the current URL to the page, such as "../". */
function hero({ title, logo }: Pick<StatusView, "title" | "logo">, base: string, nav: Html | false): Html {
  const home = base === "" ? "./" : base;
  const mark =
    logo === null
      ? html`<bdi>${title}</bdi>`
      : html`<img src="${base}logo?v=${logo.digest.slice(0, 16)}" alt="${title}">`;
  return html`<header class="hero"><div class="wrap"><a class="logo" href="${home}">${mark}</a>${nav}</div></header>`;
}

function updates({ hasEmail, hasFeeds }: PageOptions): Html | false {
  if (!hasEmail && !hasFeeds) return false;
  const form = html`<form method="post" action="subscribe"><label>${words.email}<input name="email" type="email" required maxlength="254" autocomplete="email" placeholder="you@example.com"></label><button class="button" type="submit">${words.subscribe}</button></form>`;
  const feeds = html`<p class="feeds">${words.feeds} <a class="link" href="feed.atom">${words.feedNames.atom}</a>, <a class="link" href="feed.rss">${words.feedNames.rss}</a>, <a class="link" href="status.json">${words.feedNames.json}</a></p>`;
  return html`<details class="updates"><summary>${words.updates}</summary><div>${hasEmail && form}${hasFeeds && feeds}</div></details>`;
}

type UnderOptions = { times: PageTimes; options: PageOptions };

function under({ description }: StatusView, { times, options }: UnderOptions): Html {
  const { now, confirmedAt, isStale } = options;
  const zone = times.zoneName(confirmedAt);
  const moment = times.recent(confirmedAt, now);
  const stale = html`
<p class="stale" role="status">${stateShape("delayed")}<span>${words.stale(moment, zone)}</span></p>`;
  return html`<div class="under">${description !== "" && html`<p class="about" dir="auto">${description}</p>`}<p class="updated">${words.updated(moment, zone)}</p></div>${isStale && stale}`;
}

type PostOptions = { times: PageTimes; now: Instant };

function liveIncident(post: ViewPost, { title, times, now }: PostOptions & { title: string }): Html {
  const isTitle = post.title === title && post.entries.length > 0;
  const name = isTitle ? listNames(post.entries) : post.title;
  return html`<section class="live"><h2>${stateShape("down")}<span>${name}, ${words.since(times.recent(post.from, now))}</span></h2>${
    !isTitle && post.entries.length > 0 && html`<p>${words.affected(post.entries)}</p>`
  }${notes(post, { times, now })}</section>
`;
}

function notes(post: ViewPost, { times, now }: PostOptions): Html | false {
  if (post.notes.length === 0) return false;
  return html`<ol>${post.notes.map(
    ({ at, text }) =>
      html`<li>${time(at, times.recent(at, now))}<span class="note" dir="auto">${text}</span></li>`,
  )}</ol>`;
}

function time(at: Instant, text: string): Html {
  return html`<time datetime="${new Date(at).toISOString()}">${text}</time>`;
}

function plannedWork(post: ViewPost, { times, now }: PostOptions): Html {
  const until = post.until ?? post.from;
  const when = `${times.range(post.from, until)} ${times.zoneName(post.from)}`;
  const isNow = post.from <= now && now < until;
  return html`<section class="plan"><h2>${stateShape("maintenance")}<span>${post.title}, ${isNow && html`${words.maintenanceNow}, `}${when}</span></h2>${
    post.entries.length > 0 && html`<p>${words.affected(post.entries)}</p>`
  }${post.notes.map(({ text }) => html`<p class="note" dir="auto">${text}</p>`)}</section>
`;
}

// The groups, with the strips of their entries.

function groups(view: StatusView): Html {
  const shown = view.groups.filter(({ entries }) => entries.length > 0);
  if (shown.length === 0) return html`<p class="bare">${words.empty}</p>`;
  return html`${shown.map(groupPart)}
${legend()}`;
}

function groupPart({ name, entries }: StatusView["groups"][number]): Html {
  const first = entries[0]?.days[0]?.day;
  const span = first === undefined ? "" : words.days(dayText(first));
  const heading =
    name === ""
      ? html`<h2><span class="sr">${words.services}</span><span class="span">${span}</span></h2>`
      : html`<h2><bdi>${name}</bdi><span class="span">${span}</span></h2>`;
  return html`<section class="group">${heading}
${entries.map(entryPart)}</section>
`;
}

/** "28 Jul" for "2026-07-28", which is already a day of the zone of the page. */
function dayText(day: string): string {
  return pageTimes("UTC").day(Date.parse(`${day}T12:00:00Z`));
}

function entryPart(entry: ViewEntry): Html {
  const { name, description, state, uptime, measuredSince } = entry;
  const percent = [
    ...(measuredSince === null ? [] : [words.measuredSince(dayText(measuredSince))]),
    ...(uptime === null ? [] : [percentText(uptime)]),
  ].join(" · ");
  return html`<div class="entry"><h3><bdi>${name}</bdi></h3><span class="is"><span class="percent">${percent}</span><span class="word is-${state}">${stateShape(state)}${STATE_WORDS[state]}</span></span>${
    description !== "" && html`<p class="about" dir="auto">${description}</p>`
  }${strip(entry)}</div>
`;
}

const BAR = { step: 6, width: 4, height: 30 } as const;
/** Shorter bars are worse days. */
const HEIGHTS: Readonly<Record<StripState, number>> = { up: 30, brief: 19, down: 10, none: 3 };
const CLASSES: Readonly<Record<StripState, string>> = { up: "u", brief: "l", down: "d", none: "n" };

function bar(index: number, state: StripState): string {
  const height = HEIGHTS[state];
  return `M${index * BAR.step} ${BAR.height - height}h${BAR.width}v${height}h-${BAR.width}z`;
}

function strip({ days }: ViewEntry): Html {
  const together = (state: StripState) => {
    const path = days.map((day, index) => (day.state === state ? bar(index, state) : "")).join("");
    return path === "" ? false : html`<path class="${CLASSES[state]}" d="${path}"/>`;
  };
  const isBad = ({ state }: StripDay) => state === "brief" || state === "down";
  const bad = days.flatMap((day, index) => (isBad(day) ? [{ day, index }] : []));
  const width = days.length * BAR.step - (BAR.step - BAR.width);
  const label =
    bad.length === 0 ? `${days.length} days: no outages` : `${days.length} days: ${bad.length} with outages`;
  return html`<svg class="strip" viewBox="0 0 ${width} ${BAR.height}" preserveAspectRatio="none" role="img" aria-label="${label}">${together("up")}${together("none")}${bad.map(
    ({ day, index }) =>
      html`<path class="${CLASSES[day.state]}" d="${bar(index, day.state)}"><title>${badDay(day)}</title></path>`,
  )}</svg>${
    bad.length > 0 && html`<ul class="sr">${bad.map(({ day }) => html`<li>${badDay(day)}</li>`)}</ul>`
  }`;
}

/** "24 Oct: outage, 2 h 10 min". */
function badDay({ day, state, downMs }: StripDay): string {
  return `${dayText(day)}: ${DAY_WORDS[state]}, ${downtimeText(Math.round(downMs / SECOND_MS))}`;
}

function legend(): Html {
  const key = (state: StripState) => {
    const height = Math.max(1, Math.round((HEIGHTS[state] * 14) / BAR.height));
    return html`<span><svg width="5" height="14" aria-hidden="true"><rect class="${CLASSES[state]}" y="${14 - height}" width="5" height="${height}"/></svg>${DAY_WORDS[state]}</span>`;
  };
  return html`<p class="keys">${(["up", "brief", "down", "none"] as const).map(key)}</p>
`;
}

// What happened before, by day.

/** Days without incidents are shown for this long. */
const QUIET_DAYS = 14;

type PastDay = {
  at: Instant;
  posts: readonly { post: ViewPost; isWork: boolean }[];
  open: readonly ViewPost[];
};

function past(view: StatusView, { times, now }: PostOptions): Html {
  const days = pastDays(view, { times, now });
  const rows =
    days.length === 0 ? html`<p class="none">${words.noPast}</p>` : html`${pastRows(days, { times, now })}`;
  return html`<section class="past" id="past"><h2>${words.past}</h2>
${rows}</section>`;
}

/** Days with incidents or completed maintenance, newest first. */
function pastDays(view: StatusView, { times }: PostOptions): PastDay[] {
  const days = new Map<
    string,
    { at: Instant; posts: { post: ViewPost; isWork: boolean }[]; open: ViewPost[] }
  >();
  const dayOf = (post: ViewPost) => {
    const key = times.dayKey(post.from);
    const known = days.get(key) ?? { at: post.from, posts: [], open: [] };
    days.set(key, known);
    return known;
  };
  for (const post of view.openIncidents) dayOf(post).open.push(post);
  for (const post of view.pastIncidents) dayOf(post).posts.push({ post, isWork: false });
  for (const post of view.pastMaintenance) dayOf(post).posts.push({ post, isWork: true });
  return [...days.values()].toSorted((one, other) => other.at - one.at);
}

function pastRows(days: readonly PastDay[], { times, now }: PostOptions): Html[] {
  const byKey = new Map(days.map((day) => [times.dayKey(day.at), day]));
  const rows: Html[] = [];
  let quiet: Instant[] = [];
  const flush = () => {
    const [last, first] = [quiet[0], quiet.at(-1)];
    if (last === undefined || first === undefined) return;
    const name = first === last ? dayName(first, { times, now }) : times.days(first, last);
    rows.push(html`<div class="day"><b>${name}</b><p>${words.quiet}</p></div>
`);
    quiet = [];
  };
  for (let back = 0; back < QUIET_DAYS; back += 1) {
    const at = now - back * DAY_MS;
    const day = byKey.get(times.dayKey(at));
    if (day === undefined) quiet.push(at);
    else {
      flush();
      rows.push(dayRow(day, { times, now }));
      byKey.delete(times.dayKey(at));
    }
  }
  flush();
  return [...rows, ...[...byKey.values()].map((day) => dayRow(day, { times, now }))];
}

function dayName(at: Instant, { times, now }: PostOptions): string {
  return times.dayKey(at) === times.dayKey(now) ? words.today(times.day(at)) : times.weekday(at);
}

function dayRow({ at, posts, open }: PastDay, { times, now }: PostOptions): Html {
  return html`<div class="day"><b>${dayName(at, { times, now })}</b><div>${open.map(
    ({ title }) => html`<p>${words.seeAbove(title)}</p>`,
  )}${posts.map(({ post, isWork }) => pastPost(post, { isWork, times }))}</div></div>
`;
}

function pastPost(post: ViewPost, { isWork, times }: { isWork: boolean; times: PageTimes }): Html {
  const { title, from, until } = post;
  const end = until ?? from;
  const isSameDay = times.dayKey(from) === times.dayKey(end);
  const when = `${times.clock(from)} to ${isSameDay ? times.clock(end) : times.moment(end)}`;
  return html`<div><h3><bdi>${title}</bdi></h3>${post.notes.map(
    ({ text }) => html`<p class="note" dir="auto">${text}</p>`,
  )}<p class="when">${when} · ${isWork ? words.completed : words.resolved}</p></div>`;
}

// Small pages: password, confirmation, errors.

export type Card = {
  title: string;
  sentences: readonly string[];
  /** What went wrong, above the form. */
  mistake?: string;
  form?: Html;
};

/** The parts of a page that its small pages show. */
export type CardOwner = Pick<StatusView, "title" | "logo" | "brand">;

/** `base`: how to get from the current URL to the page. */
export function renderCard(
  owner: CardOwner,
  card: Card,
  { base, fontName }: { base: string; fontName: string | null },
): RenderedPage {
  const { title, sentences, mistake, form } = card;
  return layout({
    title: `${title} – ${owner.title}`,
    head: html`<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
`,
    style: fontStyle(fontName === null ? null : base + fontName) + brandStyle(owner.brand) + STATUS_STYLE,
    body: html`${hero(owner, base, false)}
<main class="alone" id="content"><div class="card"><h1>${title}</h1>${sentences.map((text) => html`<p>${text}</p>`)}${
      mistake !== undefined && html`<p class="mistake" role="alert">${mistake}</p>`
    }${form ?? false}</div></main>`,
  });
}
