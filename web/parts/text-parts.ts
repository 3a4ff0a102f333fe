// URLs in a text that somebody wrote, so that a page can make links of them.

export type TextPart = { text: string; url: string | null };

/** Further URLs stay plain text. */
const LINKS_MAX = 100;
/** What ends a URL in a sentence rather than belongs to it. A bracket belongs to it if it was opened in it. */
const PUNCTUATION = ".,;:!?'*_~";
const BRACKETS: Readonly<Record<string, string>> = { ")": "(", "]": "[", "}": "{" };

/** The text in parts, in order and nothing left out; `url` is set where a part is an http or https URL. */
export function textParts(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let end = 0;
  let links = 0;
  for (const match of text.matchAll(/\bhttps?:\/\/[^\s<>"`\\]+/gi)) {
    if (links === LINKS_MAX) break;
    const found = withoutTrailing(match[0]);
    if (!isWebUrl(found)) continue;
    if (match.index > end) parts.push({ text: text.slice(end, match.index), url: null });
    parts.push({ text: found, url: found });
    end = match.index + found.length;
    links += 1;
  }
  if (end < text.length) parts.push({ text: text.slice(end), url: null });
  return parts;
}

function withoutTrailing(url: string): string {
  const counts = new Map<string, number>();
  for (const letter of url) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  const countOf = (letter: string) => counts.get(letter) ?? 0;
  let end = url.length;
  for (; end > 0; end -= 1) {
    const last = url.charAt(end - 1);
    const opener = BRACKETS[last];
    const isTrailing = opener === undefined ? PUNCTUATION.includes(last) : countOf(last) > countOf(opener);
    if (!isTrailing) break;
    counts.set(last, countOf(last) - 1);
  }
  return url.slice(0, end);
}

function isWebUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && hostname !== "";
}
