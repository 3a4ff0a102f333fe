// The page of checks as it is seen until its script runs: the title and the first rows, with state, name and when they
// are expected, in the places where the script draws them a moment later with everything else. Whoever only looks
// whether all is well has seen it by then. No style attributes: the policy forbids them. The classes are those of
// web/pages/checks.
import { type Boot, type ChecksBoot, hasNews } from "../../../contract/web/boot.ts";
import {
  type CheckRow,
  comparePlaces,
  drawnAt,
  isUrgent,
  naturalKey,
  placeByNeed,
} from "../../../contract/web/check-row.ts";
import {
  checkName,
  checksTitle,
  LIST_WORDS,
  SILENT_WORDS,
  STATE_WORDS,
  silentAction,
} from "../../../contract/web/list-words.ts";
import { type Html, html } from "../../../lib/http/html.ts";
import type { Asking } from "../route.ts";

/** More than these no window shows without scrolling. */
const ROWS = { comfortable: 24, compact: 32 } as const;

/** Of the page of checks in its usual order; every other page begins empty. */
export function firstSightOf({ url }: Pick<Asking, "url">, { account, page, site, now }: Boot): Html | null {
  if (page?.kind !== "checks" || page.total === 0 || url.includes("?")) return null;
  const { receiving, since } = page;
  // Lines whose words need the reader's time zone keep their place. A gap that is over is shown below the list.
  const above = [
    ...(receiving === null || receiving.toAt !== null ? [] : [html`<p class="band">&nbsp;</p>`]),
    ...(page.silent.downCount === 0 ? [] : [silentBand(page)]),
    ...(since === null || !hasNews(since) ? [] : [html`<p class="since">&nbsp;</p>`]),
    html`<div class="filters"><span class="chip is-quiet">&nbsp;</span></div>`,
  ];
  return html`<div class="shell">
<div class="rail"></div>
<main class="page" aria-busy="true">
<header class="top"><h1>${checksTitle(page.counts, page.total)}</h1><div class="search"><div class="input"></div></div></header>
${above}${list(page, { base: site.base, now, count: ROWS[account?.density ?? "comfortable"] })}
</main>
</div>`;
}

function silentBand({ silent, project }: ChecksBoot): Html {
  const action = silentAction(silent, project);
  return html`<section class="band silent-band" aria-label="${SILENT_WORDS.label}">
<svg class="icon" width="16" height="16" aria-hidden="true"></svg>
<div class="silent-text"><b>${SILENT_WORDS.title(silent.downCount)}</b> ${SILENT_WORDS.text(silent)}</div>
${action === null ? [] : [html`<span class="button is-primary">${action}</span>`]}</section>`;
}

type Drawn = { base: string; now: number; count: number };

function list({ rows }: ChecksBoot, at: Drawn): Html {
  const placed = rows.map((row) => ({ row, ...placeByNeed(row, row.state, naturalKey(row.name)) }));
  const sorted = placed.toSorted(comparePlaces).map(({ row }) => row);
  const urgent = sorted.filter(({ state }) => isUrgent(state));
  const calm = sorted.filter(({ state }) => !isUrgent(state));
  const isApart = urgent.length > 0 && calm.length > 0;
  const lines = [
    ...(urgent.length > 0 ? [heading(LIST_WORDS.needsAttention)] : []),
    ...urgent.map((row) => line(row, at)),
    ...(isApart ? [heading(LIST_WORDS.everythingElse)] : []),
    ...calm.map((row) => line(row, at)),
  ];
  const heads = Object.values(LIST_WORDS.columns).map(
    (text) => html`<span role="columnheader">${text}</span>`,
  );
  return html`<div class="list" role="table" aria-label="${LIST_WORDS.list}">
<div role="rowgroup"><div class="list-head" role="row" aria-rowindex="1">${heads}</div></div>
<div class="list-rows is-first" role="rowgroup">
${lines.slice(0, at.count).map((draw, index) => draw(index + 2))}</div>
</div>`;
}

type Line = (index: number) => Html;

function heading(text: string): Line {
  return (index) =>
    html`<div class="list-group" role="row" aria-rowindex="${index}"><span role="cell"><h2>${text}</h2></span></div>\n`;
}

function line(row: CheckRow, { base, now }: Drawn): Line {
  const state = drawnAt(row, now);
  return (index) =>
    html`<div class="row is-${state}" role="row" aria-rowindex="${index}">
<span class="row-state" role="cell"><span class="state is-${state}"><i class="shape"></i><span class="state-word">${STATE_WORDS[state]}</span></span></span>
<span class="row-name" role="cell"><a class="row-link clip" href="${base}/checks/${row.id}/details/">${checkName(row)}</a></span>
<span class="row-expected clip" role="cell">${row.expected}</span>
<span class="row-beats" role="cell"></span><span class="row-spark" role="cell"></span>
<span class="row-when" role="cell"><span>&nbsp;</span><span class="fuse"></span></span>
</div>
`;
}
