// Compares two texts line by line, by their longest common sequence. Texts are short here (what is kept of an output),
// and the work is bounded all the same.
import type { DiffLine } from "../../../contract/web/history.ts";

/** The table below has the square of this many cells. Lines beyond it are not compared. */
const DIFF_LINES_MAX = 1_000;

/** The lines of both texts, each with how it compares, and whether some were left out. */
export function diffLines({ before, after }: Record<"before" | "after", string>): {
  lines: DiffLine[];
  isCut: boolean;
} {
  const [olds, news] = [before.split(/\r?\n/), after.split(/\r?\n/)];
  const isCut = olds.length > DIFF_LINES_MAX || news.length > DIFF_LINES_MAX;
  return { lines: compare(olds.slice(0, DIFF_LINES_MAX), news.slice(0, DIFF_LINES_MAX)), isCut };
}

function compare(olds: readonly string[], news: readonly string[]): DiffLine[] {
  const width = news.length + 1;
  const common = commonLengths(olds, news);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < olds.length || j < news.length) {
    const [old = "", fresh = ""] = [olds[i], news[j]];
    if (i < olds.length && j < news.length && old === fresh) {
      lines.push({ mark: " ", text: fresh });
      i += 1;
      j += 1;
    } else if (
      j === news.length ||
      (i < olds.length && (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))
    ) {
      lines.push({ mark: "-", text: old });
      i += 1;
    } else {
      lines.push({ mark: "+", text: fresh });
      j += 1;
    }
  }
  return lines;
}

/** For each pair of places how many lines the rests from there on have in common. */
function commonLengths(olds: readonly string[], news: readonly string[]): Uint16Array {
  const width = news.length + 1;
  const lengths = new Uint16Array((olds.length + 1) * width);
  for (let i = olds.length - 1; i >= 0; i -= 1) {
    for (let j = news.length - 1; j >= 0; j -= 1) {
      const same = olds[i] === news[j];
      const skipped = Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0);
      lengths[i * width + j] = same ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1 : skipped;
    }
  }
  return lengths;
}
