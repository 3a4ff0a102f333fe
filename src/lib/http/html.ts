// HTML put together without ever forgetting to escape: every text that is filled in is taken literally, unless it was
// made here itself.

/** Finished HTML. Only `html` and `trusted` make it. */
export class Html {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** What may be filled in; null and false leave nothing behind. */
export type Fill = Html | string | number | null | false | readonly Html[];

/** A template of HTML: html`<p>${text}</p>`. Texts are escaped for elements and for quoted attributes. */
export function html(parts: TemplateStringsArray, ...fills: readonly Fill[]): Html {
  let source = parts[0] ?? "";
  for (const [index, fill] of fills.entries()) source += sourceOf(fill) + (parts[index + 1] ?? "");
  return new Html(source);
}

/** Text that stands in a page as it is: a style sheet of our own. */
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

/** A text that means itself in HTML and XML, in an attribute too. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}
