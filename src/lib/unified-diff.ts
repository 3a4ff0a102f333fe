// The differences of two texts in the unified format, as `diff -u` prints them.

const CONTEXT_LINES = 3;
/** Above this many comparisons, everything between the equal beginning and end counts as replaced. */
const COMPARISONS_MAX = 4_000_000;

type Line = { mark: " " | "-" | "+"; text: string };

/** Empty if the texts are equal. */
export function unifiedDiff(
  before: string,
  after: string,
  { from, to = from }: { from: string; to?: string },
): string {
  if (before === after) return "";
  const lines = compare(linesOf(before), linesOf(after));
  const hunks = hunksOf(lines).map(({ begin, end }) => renderHunk(lines, begin, end));
  return `--- ${from}\n+++ ${to}\n${hunks.join("")}`;
}

/** Lines with their line ends, so that a missing last one is a difference. */
function linesOf(text: string): string[] {
  return text.split(/(?<=\n)/).filter((line) => line !== "");
}

function compare(a: readonly string[], b: readonly string[]): Line[] {
  let begin = 0;
  while (begin < a.length && begin < b.length && a[begin] === b[begin]) begin++;
  let end = 0;
  while (end < a.length - begin && end < b.length - begin && a.at(-1 - end) === b.at(-1 - end)) end++;
  return [
    ...marked(" ", a.slice(0, begin)),
    ...compareMiddle(a.slice(begin, a.length - end), b.slice(begin, b.length - end)),
    ...marked(" ", a.slice(a.length - end)),
  ];
}

function marked(mark: Line["mark"], texts: readonly string[]): Line[] {
  return texts.map((text) => ({ mark, text }));
}

/** By the longest common subsequence. */
function compareMiddle(a: readonly string[], b: readonly string[]): Line[] {
  if (a.length * b.length > COMPARISONS_MAX) return [...marked("-", a), ...marked("+", b)];
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && a[i] === b[j]) {
      lines.push(...marked(" ", a.slice(i, i + 1)));
      i++;
      j++;
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(...marked("-", a.slice(i, ++i)));
    } else lines.push(...marked("+", b.slice(j, ++j)));
  }
  return removedFirst(lines);
}

/** Within a run of changes, removed lines precede added ones. */
function removedFirst(lines: readonly Line[]): Line[] {
  const sorted: Line[] = [];
  let added: Line[] = [];
  for (const line of lines) {
    if (line.mark === "+") added.push(line);
    else {
      if (line.mark === " ") {
        sorted.push(...added);
        added = [];
      }
      sorted.push(line);
    }
  }
  return [...sorted, ...added];
}

/** The changes with the lines around them; those that touch are one. */
function hunksOf(lines: readonly Line[]): { begin: number; end: number }[] {
  const hunks: { begin: number; end: number }[] = [];
  for (const [index, { mark }] of lines.entries()) {
    if (mark === " ") continue;
    const begin = Math.max(0, index - CONTEXT_LINES);
    const end = Math.min(lines.length, index + CONTEXT_LINES + 1);
    const last = hunks.at(-1);
    if (last !== undefined && begin <= last.end) last.end = end;
    else hunks.push({ begin, end });
  }
  return hunks;
}

function renderHunk(lines: readonly Line[], begin: number, end: number): string {
  const shown = lines.slice(begin, end);
  const range = (mark: "-" | "+", sign: string) => {
    const isCounted = (line: Line) => line.mark === " " || line.mark === mark;
    const first = lines.slice(0, begin).filter(isCounted).length;
    const count = shown.filter(isCounted).length;
    return `${sign}${count === 0 ? first : first + 1},${count}`;
  };
  const head = `@@ ${range("-", "-")} ${range("+", "+")} @@\n`;
  return head + shown.map(({ mark, text }) => `${mark}${withEnd(text)}`).join("");
}

function withEnd(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n\\ No newline at end of file\n`;
}
