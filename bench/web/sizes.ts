// Sizes of the dashboard benchmark: full for figures to keep, small to test that it works.
import type { SizeName } from "../store/sizes.ts";

export type WebSize = {
  about: string;
  /** Checks in the displayed project. */
  checks: number;
  /** How often the page is opened with an empty browser cache. */
  openings: number;
  /** How often the list is scrolled and a filter is typed. */
  passes: number;
  /** How often the document is requested while statements are counted. */
  countings: number;
};

export const WEB_SIZES: Readonly<Record<SizeName, WebSize>> = {
  full: {
    about: "a project with 10,000 checks, about two minutes",
    checks: 10_000,
    openings: 7,
    passes: 5,
    countings: 7,
  },
  small: {
    about: "a project with 200 checks, under a minute; its figures mean nothing",
    checks: 200,
    openings: 2,
    passes: 1,
    countings: 3,
  },
};
