// Texts that have to fit: cut where a reader loses least, and never through a character.

const LEFT_OUT = "…";

/** The beginning of a text of at most so many characters, with a sign when something was left out. */
export function clipStart(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  return `${text.slice(0, Math.max(0, lengthMax - LEFT_OUT.length)).replace(HALF_AT_END, "")}${LEFT_OUT}`;
}

/** The end of a text: what a job printed last says why it failed. Begins with a whole line where that costs little. */
export function clipEnd(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  const end = text
    .slice(text.length - Math.max(0, lengthMax - LEFT_OUT.length - 1))
    .replace(HALF_AT_START, "");
  const lineBreak = end.indexOf("\n");
  const whole = lineBreak !== -1 && lineBreak < end.length / 5 ? end.slice(lineBreak + 1) : end;
  return `${LEFT_OUT}\n${whole}`;
}

const HALF_AT_END = /[\ud800-\udbff]$/;
const HALF_AT_START = /^[\udc00-\udfff]/;

const [ESC, BELL] = [27, 7].map((code) => String.fromCharCode(code));

/**
 * What a program writes to colour its output, to move about on a screen (also when the text ends within it), to name
 * the window or link a word, and to choose a set of characters.
 */
const COLOURS = new RegExp(
  `${ESC}(?:\\[[0-?]*[ -/]*(?:[@-~]|$)|\\][^${BELL}${ESC}\n]*(?:${BELL}|${ESC}\\\\)|[ -/]+[0-~]|[=>78cDEM])`,
  "g",
);

/** Without what no screen shows: control characters other than line breaks and tabs, and halves of characters. */
export function printable(text: string): string {
  return text
    .toWellFormed()
    .replace(COLOURS, "")
    .replace(/\r\n?/g, "\n")
    .replace(/(?![\n\t])\p{Cc}/gu, "");
}

/** A text in one line: breaks and unusual spaces become single spaces. */
export function oneLine(text: string): string {
  return printable(text).replace(/\s+/g, " ").trim();
}
