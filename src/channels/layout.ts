// Formats the text of a message in the markup of its receiver, within its limits. A dialect is data: how text that other
// people wrote stays text. Kinds arrange the parts, or take the whole text.
import {
  clipEnd,
  clipStart,
  type Fact,
  type Link,
  listLines,
  type MessageText,
  type Tone,
} from "./message-text.ts";

/** The markup of a receiver. Each function returns one line, except `block`. */
export type Dialect = {
  /** Text that must not act as markup, mention anyone, or become a link. */
  text: (foreign: string) => string;
  code: (foreign: string) => string;
  /** Several lines in a monospace font. */
  block: (foreign: string) => string;
  /** For our own text. */
  bold: (own: string) => string;
  link: (link: Link) => string;
  bullet: string;
  /** What prevents a line from being joined with the next. */
  lineEnd: string;
  newline: string;
};

const NO_MARKUP = (text: string) => text;

/** Text without markup. A link in a list is its text alone. */
export const PLAIN: Dialect = {
  text: NO_MARKUP,
  code: NO_MARKUP,
  block: NO_MARKUP,
  bold: NO_MARKUP,
  link: ({ text }) => text,
  bullet: "- ",
  lineEnd: "",
  newline: "\n",
};

/** Text without markup, in which text of other people is changed so that it stays text. */
export function plainWith(literal: (foreign: string) => string): Dialect {
  return { ...PLAIN, text: literal, code: literal, block: literal, link: ({ text }) => literal(text) };
}

/** Markdown as in CommonMark. */
export const MARKDOWN: Dialect = {
  text: (foreign) => foreign.replace(/[\\*_~`<>[\]#|]/g, (sign) => `\\${sign}`).replaceAll("\n", "  \n"),
  code: (foreign) => `\`${foreign.replaceAll("`", "'")}\``,
  block: (foreign) => `\`\`\`\n${foreign.replaceAll("```", "'''")}\n\`\`\``,
  bold: (own) => `**${own}**`,
  link: ({ text, url }) => `[${MARKDOWN.text(text)}](${url})`,
  bullet: "- ",
  lineEnd: "  ",
  newline: "\n",
};

/** The four characters with a meaning in HTML. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** HTML with the tags that chats allow. */
export const HTML: Dialect = {
  text: escapeHtml,
  code: (foreign) => `<code>${escapeHtml(foreign)}</code>`,
  block: (foreign) => `<pre>${escapeHtml(foreign)}</pre>`,
  bold: (own) => `<b>${own}</b>`,
  link: ({ text, url }) => `<a href="${escapeHtml(url)}">${escapeHtml(text)}</a>`,
  bullet: "• ",
  lineEnd: "",
  newline: "\n",
};

/** An invisible joiner, so that a character does not act as markup or mention anyone. */
export const JOINER = "\u2060";

/** Text in which no @ mentions anyone. */
export function withoutMentions(text: string): string {
  return text.replaceAll("@", `@${JOINER}`);
}

/** Text in which no < starts an HTML tag, for receivers that show some of it as HTML and some of it unchanged. */
export function withoutTags(text: string): string {
  return text.replaceAll("<", `<${JOINER}`);
}

/** The tags of the check, if the message is about one. */
export function tagsOf({ facts }: MessageText): readonly string[] {
  return facts.find(({ label }) => label === "Tags")?.parts ?? [];
}

/** The sign before a headline. */
export const SIGNS: Readonly<Record<Tone, string>> = { bad: "🔴", good: "🟢", notice: "🟡" };

/** The color beside a message. */
export const COLORS: Readonly<Record<Tone, string>> = { bad: "#d9534f", good: "#5cb85c", notice: "#f0ad4e" };

export type PartLimits = {
  /** Characters of the value of a fact, and of the names of checks in lists. */
  value: number;
  names: number;
  /** How the checks of an incident are named; without a link if omitted. */
  name?: (check: Link) => string;
};

/** The parts of a message as lines. Parts without content are empty. */
export type Parts = {
  sentences: string[];
  history: string[];
  lists: string[][];
  facts: string[];
  others: string[];
};

/** The parts of a message in a dialect, except its headline, output and links. */
export function partsOf(words: MessageText, dialect: Dialect, limits: PartLimits): Parts {
  const { text, bold, link, bullet, lineEnd } = dialect;
  const { history, lists, others } = words;
  const name = limits.name ?? (({ text: called }: Link) => text(called));
  return {
    sentences: words.sentences.map((sentence) => text(sentence) + lineEnd),
    history:
      history.length === 0 ? [] : ["Since the last message:", ...history.map((line) => bullet + text(line))],
    lists: lists.map((list) => listLines(list, { bullet, name, lengthMax: limits.names / lists.length })),
    facts: words.facts.map(
      ({ label, value }) => `${bold(`${label}:`)} ${text(clipStart(value, limits.value))}${lineEnd}`,
    ),
    others: others === null ? [] : [text(others.text), ...others.down.map((down) => bullet + link(down))],
  };
}

/** The value of a fact: tags and schedules as code. */
export function factValue({ value, parts, isLiteral }: Fact, dialect: Dialect): string {
  return isLiteral === true ? (parts ?? [value]).map(dialect.code).join(" ") : dialect.text(value);
}

export type TextLimits = PartLimits & {
  /** Of the whole text. What does not fit is cut off from the end of the facts and the lists. */
  max: number;
  unit?: "characters" | "bytes";
  /** Characters of the output. */
  output: number;
};

/** Lines with the links of a message: to its page, and to acknowledge. */
export function linkLines({ link, ack }: MessageText, dialect: Dialect): string[] {
  const line = ({ text, url }: Link) => (dialect === PLAIN ? `${text}: ${url}` : dialect.link({ text, url }));
  return [link, ...(ack === null ? [] : [ack])].map(line);
}

/**
 * The whole text of a message without its headline: what happened, lists, facts, other checks, output and `ends`, which
 * are kept whole, as is the end of the output.
 */
export function fullText(
  words: MessageText,
  dialect: Dialect,
  { limits, ends = linkLines(words, dialect) }: { limits: TextLimits; ends?: readonly string[] },
): string {
  const { sentences, history, lists, facts, others } = partsOf(words, dialect, limits);
  const { newline } = dialect;
  const parts = [history, ...lists, facts, others].filter((part) => part.length > 0);
  const size = sizeIn(limits.unit);
  const links = ends.length === 0 ? "" : newline + newline + ends.join(dialect.lineEnd + newline);
  const lines = [...sentences, ...parts.flatMap((part) => ["", ...part])];
  const output = outputPart(words, dialect, { limits, size });
  return (
    fittingLines(lines, { room: limits.max - size(output) - size(links), newline, size }) + output + links
  );
}

function sizeIn(unit: TextLimits["unit"]): (text: string) => number {
  return unit === "bytes" ? (text) => Buffer.byteLength(text) : (text) => text.length;
}

/** The last output may take half of the limit; non-ASCII characters have several bytes. */
function outputPart(
  { output }: MessageText,
  dialect: Dialect,
  { limits, size }: { limits: TextLimits; size: (text: string) => number },
): string {
  if (output === null) return "";
  const { newline, bold, block } = dialect;
  const part = (length: number) =>
    [newline, bold("Last output:"), block(clipEnd(output, length))].join(newline);
  for (let length = limits.output; length > 0; length = Math.floor(length / 2)) {
    if (size(part(length)) <= limits.max / 2) return part(length);
  }
  return "";
}

/** As many whole lines as fit, so that no markup is cut; at least the beginning of the first one. */
function fittingLines(
  lines: readonly string[],
  { room, newline, size }: { room: number; newline: string; size: (text: string) => number },
): string {
  const whole = lines.join(newline);
  if (size(whole) <= room) return whole;
  const kept: string[] = [];
  let used = size("…");
  for (const line of lines) {
    used += size(line + newline);
    if (used > room) break;
    kept.push(line);
  }
  return kept.length === 0 ? clipTo(lines[0] ?? "", room, size) : [...kept, "…"].join(newline);
}

function clipTo(text: string, room: number, size: (text: string) => number): string {
  let clipped = text;
  while (clipped !== "" && size(clipped) > room)
    clipped = clipStart(clipped, Math.floor(clipped.length * 0.9));
  return clipped;
}

/** The beginning of a text, at most this many bytes of UTF-8. */
export function clipBytes(text: string, bytesMax: number): string {
  return clipTo(text, bytesMax, sizeIn("bytes"));
}

/** Below this share of the limits, long texts are omitted. */
const SHARE_MIN = 1 / 64;

/** The result of `build` with the largest share of the limits for long texts that fits into a size limit as JSON. */
export function jsonWithin<Built>(bytesMax: number, build: (share: number) => Built): Built {
  for (let share = 1; share >= SHARE_MIN; share /= 2) {
    const built = build(share);
    if (Buffer.byteLength(JSON.stringify(built)) <= bytesMax) return built;
  }
  return build(0);
}

/** All contents of a message by label, for receivers with structured details. */
export function detailsOf(
  { sentences, history, lists, facts, others, output }: MessageText,
  limits: { names: number; output: number },
): Record<string, string> {
  const down = others?.down.map(({ text }) => text) ?? [];
  return {
    "What happened": [...sentences, ...history].join("\n"),
    ...Object.fromEntries(facts.map(({ label, value }) => [label, value])),
    ...Object.fromEntries(
      lists.map((list) => {
        const [, ...names] = listLines(list, {
          bullet: "",
          name: ({ text }) => text,
          lengthMax: limits.names,
        });
        return [list.title, names.join("\n")];
      }),
    ),
    ...(others === null ? {} : { "Other checks": [others.text, ...down].join("\n") }),
    ...(output === null ? {} : { "Last output": clipEnd(output, limits.output) }),
  };
}
