// The text of an HTML document, for looking for words in it: tags are dropped, and so is what scripts and styles
// hold; nothing is put in their place, and white space is one space. It reads each character once.

/** Elements whose content nobody gets to read. */
const HIDDEN = /^<(script|style)\b/i;
const SPACE = /\s+/g;

/** What a reader would see, as one line. Whatever is not HTML comes back as it is. */
export function htmlText(html: string): string {
  const pieces: string[] = [];
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf("<", at);
    pieces.push(html.slice(at, open === -1 ? html.length : open));
    if (open === -1) break;
    at = afterMarkup(html, open);
    // An angle that opens nothing is text.
    if (at === open + 1) pieces.push("<");
  }
  return decodeEntities(pieces.join("")).replace(SPACE, " ").trim();
}

/** Where what begins with an angle ends. What is never closed reaches to the end of the document. */
function afterMarkup(html: string, open: number): number {
  if (html.startsWith("<!--", open)) return after(html, "-->", open + 4);
  if (!/[a-z/!?]/i.test(html[open + 1] ?? "")) return open + 1;
  const end = afterTag(html, open);
  const [, hidden] = HIDDEN.exec(html.slice(open, open + 8)) ?? [];
  if (hidden === undefined) return end;
  return afterTag(html, beforeClosing(html, { name: hidden.toLowerCase(), from: end }));
}

/** A closing angle inside a quoted attribute closes nothing. */
function afterTag(html: string, open: number): number {
  let quote = "";
  for (let at = open; at < html.length; at += 1) {
    const character = html[at] ?? "";
    if (quote !== "") {
      if (character === quote) quote = "";
    } else if (character === '"' || character === "'") {
      // Only after an equals sign: apostrophes stand in broken tags as well.
      if (html[at - 1] === "=") quote = character;
    } else if (character === ">") return at + 1;
  }
  // The quote was never closed, or the tag was not: the first angle is as good as any.
  return after(html, ">", open);
}

function beforeClosing(html: string, { name, from }: { name: string; from: number }): number {
  const closing = new RegExp(`</${name}`, "gi");
  closing.lastIndex = from;
  return closing.exec(html)?.index ?? html.length;
}

function after(html: string, mark: string, from: number): number {
  const found = html.indexOf(mark, from);
  return found === -1 ? html.length : found + mark.length;
}

const ENTITY = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z]{2,8}[0-9]{0,2}));?/g;
const BASIC: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  hellip: "…",
  ndash: "–",
  mdash: "—",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
  euro: "€",
  bull: "•",
  check: "✓",
};
const LATIN_FROM = 160;
/** The names of the characters from U+00A0 to U+00FF, in their order. */
const LATIN = (
  "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute " +
  "micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig " +
  "Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash " +
  "Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute " +
  "ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc " +
  "uuml yacute thorn yuml"
).split(" ");
const NAMED = new Map([
  ...Object.entries(BASIC),
  ...LATIN.map((name, index): [string, string] => [name, String.fromCodePoint(LATIN_FROM + index)]),
]);
const CODE_POINT_MAX = 0x10_ff_ff;

function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(ENTITY, (written: string, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return NAMED.get(name) ?? written;
    const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
    return code > 0 && code <= CODE_POINT_MAX ? String.fromCodePoint(code) : "\uFFFD";
  });
}
