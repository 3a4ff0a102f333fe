// Long stretches of lines that are the same are folded, with a few left round each change. Pure.
import type { DiffLine } from "../../../../src/contract/web/history.ts";

/** So many lines beside a change are shown for orientation. */
const BESIDE = 3;
/** Fewer are not worth a click. */
const FOLDED_MIN = 4;

type DiffPart = { kind: "shown" | "folded"; lines: DiffLine[] };

export function foldSame(lines: readonly DiffLine[]): DiffPart[] {
  const near = lines.map((_, index) =>
    lines.slice(Math.max(0, index - BESIDE), index + BESIDE + 1).some(({ mark }) => mark !== " "),
  );
  const parts: DiffPart[] = [];
  for (const [index, line] of lines.entries()) {
    const kind = near[index] === true ? "shown" : "folded";
    const last = parts.at(-1);
    if (last?.kind === kind) last.lines.push(line);
    else parts.push({ kind, lines: [line] });
  }
  return parts.map((part) =>
    part.kind === "folded" && part.lines.length < FOLDED_MIN ? { ...part, kind: "shown" } : part,
  );
}
