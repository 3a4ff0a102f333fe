// Labels of the track do not overlap.
import { expect, test } from "vitest";
import { type Labelled, labelWidth, placeLabels } from "./check-timeline.tsx";

/** The width on a phone of 390 pixels. */
const PHONE = 334;

const label = (kind: Labelled["kind"], x: number): Labelled => ({ kind, x, text: `${kind} yesterday 06:35` });

function overlaps(labels: readonly Labelled[], width: number): number {
  const placed = placeLabels(labels, width);
  return placed.filter((one, index) =>
    placed.some(
      (other, place) =>
        place < index &&
        other.lane === one.lane &&
        one.left < other.left + labelWidth(other.text) &&
        other.left < one.left + labelWidth(one.text),
    ),
  ).length;
}

test("labels do not overlap, wherever their marks are", () => {
  for (let step = 0; step <= 10; step += 1) {
    const x = (PHONE * step) / 10;
    const together = [label("last", x), label("expected", x), label("alert", x + 2), label("now", x + 4)];
    expect(overlaps(together, PHONE)).toBe(0);
    expect(overlaps([label("last", 4), ...together.slice(1)], PHONE)).toBe(0);
  }
});

test("of five labels the expected run is dropped, and the others do not overlap", () => {
  for (let step = 0; step <= 10; step += 1) {
    const x = (PHONE * step) / 10;
    const kinds = ["last", "started", "expected", "alert", "now"] as const;
    const together = kinds.map((kind, index) => label(kind, x + index));
    expect(overlaps(together, PHONE)).toBe(0);
    const placed = placeLabels(together, PHONE).map(({ kind }) => kind);
    expect(placed).toEqual(["last", "started", "alert", "now"]);
  }
});

test("a label stays within the track", () => {
  const placed = placeLabels([label("last", 0), label("now", PHONE)], PHONE);
  expect(placed.every(({ left, text }) => left >= 0 && left + labelWidth(text) <= PHONE)).toBe(true);
});

test("with room for all, past pings and the alert are below the line, future ones and now above", () => {
  const labels = [label("last", 60), label("expected", 400), label("alert", 480), label("now", 900)];
  expect(placeLabels(labels, 960).map(({ lane }) => lane)).toEqual([2, 0, 2, 0]);
});
