// The fault run in short, as part of every check: a small mix, a link that is cut around COMMIT, and the proof
// that a broken promise would be seen.
import { describe, test } from "vitest";
import { PLANTED } from "./planted.ts";
import { runScenarios } from "./run-scenarios.ts";
import type { Run } from "./scenario.ts";
import { linkCut } from "./scenarios/link-cut.ts";
import { mix } from "./scenarios/mix.ts";

const SEED = 4;
/** A bound for what hangs: a quiet machine needs a fifth of it. */
const TIMEOUT_MS = 180_000;

function tiny(preloads: readonly string[] = []): Run {
  return { say: () => {}, size: "tiny", seed: SEED, backlogSignals: null, preloads, keepFiles: false };
}

// Side by side, because each of them mostly waits.
describe.concurrent("under faults", { timeout: TIMEOUT_MS }, () => {
  test("what was acknowledged is there once, after kills and a stop of the database", async ({ expect }) => {
    const { tally, complaints } = await runScenarios([mix], tiny());
    expect(complaints).toEqual([]);
    expect(tally.acknowledged).toBeGreaterThan(0);
    expect(tally).toMatchObject({ lost: 0, duplicated: 0, refused: 0 });
  });

  test("a link that is cut around COMMIT neither loses nor doubles a signal", async ({ expect }) => {
    const { tally, complaints } = await runScenarios([linkCut], tiny());
    expect(complaints).toEqual([]);
    expect(tally.acknowledged).toBeGreaterThan(0);
    expect(tally).toMatchObject({ lost: 0, duplicated: 0, refused: 0 });
  });

  test("a planted answer before the commit is seen as lost", async ({ expect }) => {
    const { tally } = await runScenarios([mix], tiny([moduleOf("answer-first")]));
    expect(tally.lost).toBeGreaterThan(0);
  });
});

function moduleOf(name: string): string {
  const planted = PLANTED[name];
  if (planted === undefined) throw new Error(`there is no planted fault "${name}"`);
  return planted.module;
}
