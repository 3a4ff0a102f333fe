// The smallest run there is, as the tests of every check play it.
import { PLANTED } from "./planted.ts";
import type { Run } from "./scenario.ts";

const SEED = 4;

/** A run without words, with a planted fault if one is named. Throws for a name that there is not. */
export function tinyRun(planted?: string): Run {
  return {
    say: () => {},
    size: "tiny",
    seed: SEED,
    backlogSignals: null,
    preloads: planted === undefined ? [] : [moduleOf(planted)],
    keepFiles: false,
  };
}

function moduleOf(name: string): string {
  const planted = PLANTED[name];
  if (planted === undefined) throw new Error(`there is no planted fault "${name}"`);
  return planted.module;
}
