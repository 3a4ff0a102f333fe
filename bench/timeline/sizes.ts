// Sizes of the timeline benchmark: full for figures to keep, small to test that it works.
import type { SizeName } from "../store/sizes.ts";

export type TimelineSize = {
  about: string;
  /** Checks in the displayed project. */
  checks: number;
  /** Days of history of each check. */
  days: number;
  /** How often the page is opened with an empty browser cache. */
  openings: number;
  /** How often it is moved and zoomed. */
  passes: number;
  /** How often the document is requested while statements are counted. */
  countings: number;
  /** How often each range is requested from the server. */
  requests: number;
};

export const TIMELINE_SIZES: Readonly<Record<SizeName, TimelineSize>> = {
  full: {
    about: "a project with 10,000 checks and 30 days of history, about three minutes",
    checks: 10_000,
    days: 30,
    openings: 7,
    passes: 5,
    countings: 5,
    requests: 15,
  },
  small: {
    about: "a project with 200 checks and 3 days of history, under a minute; its figures mean nothing",
    checks: 200,
    days: 3,
    openings: 2,
    passes: 1,
    countings: 2,
    requests: 2,
  },
};
