// HTML templates that escape all inserted texts, except HTML made here.

/** Finished HTML. Only `html` and `trusted` create it. */
export class Html {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** Values that can be inserted; null and false insert nothing. */
export type Fill = Html | string | number | null | false | readonly Html[];

/** A template of HTML: html`<p>${text}</p>`. Texts are escaped for elements and for quoted attributes. */
export function html(parts: TemplateStringsArray, ...fills: readonly Fill[]): Html {
  let source = parts[0] ?? "";
  for (const [index, fill] of fills.entries()) source += sourceOf(fill) + (parts[index + 1] ?? "");
  return new Html(source);
}

/** Text that is inserted without escaping: our own style sheet. */
export function trusted(source: string): Html {
  return new Html(source);
}

function sourceOf(fill: Fill): string {
  if (fill === null || fill === false) return "";
  if (fill instanceof Html) return fill.source;
  if (typeof fill === "string" || typeof fill === "number") return escapeHtml(String(fill));
  return fill.map(({ source }) => source).join("");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes a text for HTML and XML, including attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}

// The logo for server-rendered pages: next to the name, and as the favicon. In the dashboard, web/shell.tsx
// draws it.

const CLOCK = "M12 2.5a9.5 9.5 0 1 0 9.5 9.5";
const HAND = "M12 7v5l3.2 2.2";

/** In the color of the surrounding text; the page colors the circle. */
export const LOGO_SVG = `<svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><path d="${CLOCK}" fill="none" stroke="currentColor" stroke-width="2.4" stroke-linecap="round"/><path d="${HAND}" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round"/><circle cx="18.6" cy="5.4" r="2.6"/></svg>`;

const ICON_SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#17181d"/><g fill="none" stroke="#fff" stroke-linecap="round" stroke-linejoin="round"><path d="M16 6a10 10 0 1 0 10 10" stroke-width="2.8"/><path d="M16 10.5V16l3.6 2.4" stroke-width="2.6"/></g><circle cx="23" cy="9" r="3" fill="#2fb67c"/></svg>';

/** The favicon as a data URL, so that browsers do not request one. */
export const ICON_HREF = `data:image/svg+xml,${encodeURIComponent(ICON_SVG)}`;
