// What of a line cron runs, and what it gives to that as its input: everything from an unescaped percent sign on.

const INPUT = /(?<!\\)%/;

/** Both parts, which together are the text. */
export function splitInput(text: string): { run: string; input: string } {
  const at = text.search(INPUT);
  return at === -1 ? { run: text, input: "" } : { run: text.slice(0, at), input: text.slice(at) };
}
