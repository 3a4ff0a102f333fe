// Fits help texts into 80 columns.

export const HELP_COLUMNS = 80;

/**
 * A text whose paragraphs are wrapped. Paragraphs that fit already, and indented lines such as examples and tables, stay
 * as they are.
 */
export function fitted(text: string): string {
  const blocks: string[][] = [];
  for (const line of text.split("\n")) {
    const isProse = /^\S/.test(line);
    const last = blocks.at(-1);
    const isSame = last !== undefined && isProse && /^\S/.test(last[0] ?? "");
    if (isSame) last.push(line);
    else blocks.push([line]);
  }
  return blocks
    .map((lines) => {
      const isWide = lines.some((line) => line.length > HELP_COLUMNS);
      return isWide && /^\S/.test(lines[0] ?? "") ? wrapped(lines.join(" ")) : lines.join("\n");
    })
    .join("\n");
}

function wrapped(text: string): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line === "") lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= HELP_COLUMNS) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.join("\n");
}
