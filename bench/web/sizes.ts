// How large a run of the dashboard's benchmark is: full for figures worth keeping, small to see that it works.
import type { SizeName } from "../store/sizes.ts";

export type WebSize = {
  about: string;
  /** Checks in the project that is looked at. */
  checks: number;
  /** How often the page is opened with nothing in the browser's memory. */
  openings: number;
  /** How often somebody scrolls through everything and types a filter. */
  passes: number;
  /** How often the document is asked for while statements are counted. */
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
