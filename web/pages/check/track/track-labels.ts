// Where the labels of the track stand: beside their marks, never over each other, however narrow the track is. Pure.

/** What is labelled, in pixels from the left. */
export type Labelled = { kind: "last" | "started" | "expected" | "alert" | "now"; text: string; x: number };

/** Lanes from the line outwards: 0 and 1 lie above it, 2 and 3 below. */
export type Placed = Labelled & { left: number; lane: number };

/** A digit or letter of the label's type is rarely wider than this. In pixels. */
const LETTER_WIDTH = 6.6;
const GAP = 10;
/** Where each kind looks for room first: what is awaited and now above, what came and what is told below. */
const LANES: Readonly<Record<Labelled["kind"], readonly number[]>> = {
  last: [2, 3, 0, 1],
  started: [2, 3, 0, 1],
  expected: [0, 1, 2, 3],
  alert: [2, 3, 0, 1],
  now: [0, 1, 2, 3],
};

const LANES_COUNT = 4;

/** How much room a text is given. */
export function labelWidth(text: string): number {
  return Math.ceil(text.length * LETTER_WIDTH);
}

/**
 * Each label in the first lane that has room for it, as near to its mark as the edges allow. There are no more labels
 * than lanes, so that each has one to itself in the worst case: where a check that is down by silence has started
 * again, the run that was expected has its mark and no label.
 */
export function placeLabels(labels: readonly Labelled[], width: number): Placed[] {
  const placed: Placed[] = [];
  const isCrowded = labels.length > LANES_COUNT;
  for (const label of labels.filter(({ kind }) => !isCrowded || kind !== "expected")) {
    const wide = labelWidth(label.text);
    const left = Math.max(0, Math.min(width - wide, label.x - wide / 2));
    const isFree = (lane: number) =>
      placed.every(
        (other) =>
          other.lane !== lane ||
          left >= other.left + labelWidth(other.text) + GAP ||
          left + wide + GAP <= other.left,
      );
    const lanes = LANES[label.kind];
    placed.push({ ...label, left, lane: lanes.find(isFree) ?? lanes[0] ?? 0 });
  }
  return placed;
}
