// Finds the known name that a mistyped one was probably meant to be, for settings, roles and commands.

/** Longer names are not compared: the table below is quadratic. */
const NAME_LENGTH_MAX = 64;
/** Maximum distance of a suggestion, as a share of the name. */
const DISTANCE_SHARE_MAX = 0.4;

/** The known name closest to the given one, or null if none is close enough. */
export function nearestName(given: string, known: readonly string[]): string | null {
  if (given.length > NAME_LENGTH_MAX) return null;
  let best: string | null = null;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const name of known) {
    const distance = editDistance({ from: given.toLowerCase(), to: name.toLowerCase() });
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return bestDistance <= Math.max(1, Math.floor(given.length * DISTANCE_SHARE_MAX)) ? best : null;
}

/** " Did you mean x?", to append to a message, or nothing. */
export function didYouMean(given: string, known: readonly string[]): string {
  const name = nearestName(given, known);
  return name === null ? "" : ` Did you mean ${name}?`;
}

/** Number of insertions, deletions, replacements and transpositions. */
function editDistance({ from, to }: { from: string; to: string }): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      let cost = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && column > 1 && swapped) cost = Math.min(cost, (beforeLast[column - 2] ?? 0) + 1);
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? 0;
}
