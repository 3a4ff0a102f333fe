// The marks on a row of the timeline, and how they are packed into integers.
import type { Instant } from "./instant.ts";

/**
 * What a mark stands for. `ran`: a success. `late`: a success that began late. `failed`. `missed`: nothing came.
 * `running`: a run in progress. `ahead`: predicted. `silenced`: no notifications were or will be sent. `paused`: not
 * monitored. `changed`: the schedule was changed. The order is part of the API.
 */
export const MARK_KINDS = [
  "ran",
  "late",
  "failed",
  "missed",
  "running",
  "ahead",
  "silenced",
  "paused",
  "changed",
] as const;
export type MarkKind = (typeof MARK_KINDS)[number];

export type Mark = {
  kind: MarkKind;
  /** When a run began, or ended if its beginning is unknown. */
  from: Instant;
  /** Not before `from`. `running`: now. */
  to: Instant;
  /**
   * Number of runs; more than one are drawn as a ribbon. 0 for marks that are not runs, and for a check that is late and
   * has not run yet.
   */
  count: number;
  /** `late`: when the run was expected, before `from`; for other marks, `from`. */
  expectedAt: Instant;
  /** The number of a single logged run, for its page. 0: unknown. `silenced`: the index of the silence. */
  n: number;
};

/** Integers per mark. */
const MARK_LENGTH = 6;

const SECOND_MS = 1_000;

/**
 * Six integers per mark, in order of their start: kind, seconds since the start of the previous mark (the first one: since
 * `from`), length in seconds, count, seconds between the expected time and the start, number.
 */
export function packMarks(marks: readonly Mark[], from: Instant): number[] {
  const packed: number[] = [];
  let before = 0;
  for (const mark of marks.toSorted((one, other) => one.from - other.from)) {
    const start = Math.round((mark.from - from) / SECOND_MS);
    packed.push(
      MARK_KINDS.indexOf(mark.kind),
      start - before,
      Math.max(0, Math.round((mark.to - mark.from) / SECOND_MS)),
      mark.count,
      Math.max(0, Math.round((mark.from - mark.expectedAt) / SECOND_MS)),
      mark.n,
    );
    before = start;
  }
  return packed;
}

/** The marks of a row in order of their start, to the second. */
export function unpackMarks({ from }: { from: Instant }, { marks }: { marks: readonly number[] }): Mark[] {
  const found: Mark[] = [];
  let start = from;
  for (let i = 0; i + MARK_LENGTH <= marks.length; i += MARK_LENGTH) {
    const [kind = 0, distance = 0, length = 0, count = 0, lead = 0, n = 0] = marks.slice(i, i + MARK_LENGTH);
    start += distance * SECOND_MS;
    found.push({
      kind: MARK_KINDS[kind] ?? "ran",
      from: start,
      to: start + length * SECOND_MS,
      count,
      expectedAt: start - lead * SECOND_MS,
      n,
    });
  }
  return found;
}
