// The smallest run, used by the tests of every check.
import { PLANTED } from "./planted.ts";
import type { Run } from "./scenario.ts";

const SEED = 4;

/** A silent run, with a planted fault if one is named. Throws for an unknown name. */
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
