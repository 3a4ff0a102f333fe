// Which silences hold the notifications about problems of checks.
import type { Instant } from "../core/instant.ts";
import { type Held, silencedUntil } from "../core/silence.ts";
import { findTimings } from "../store/checks.ts";
import type { Db } from "../store/db.ts";
import { findLastSuccesses, listCurrentSilences, type StoredSilence } from "../store/silences.ts";

/** A problem of a check, and the instant in question. */
export type Problem = { checkId: number; projectId: number; tags: string; openedAt: Instant; at: Instant };

/** For each problem, the silence that holds it and until when; null: none does. In the given order. */
export async function silencesOf(
  db: Db,
  problems: readonly Problem[],
): Promise<(Held<StoredSilence> | null)[]> {
  if (problems.length === 0) return [];
  const silences = await listCurrentSilences(db, {
    projectIds: [...new Set(problems.map(({ projectId }) => projectId))],
    since: Math.min(...problems.map(({ at }) => at)),
  });
  const covered = problems.filter(({ projectId }) => silences.has(projectId));
  if (covered.length === 0) return problems.map(() => null);
  const [timings, successes] = await Promise.all([
    findTimings(
      db,
      covered.map(({ checkId }) => checkId),
    ),
    findLastSuccesses(
      db,
      covered.map(({ checkId, openedAt }) => ({ checkId, beforeAt: openedAt })),
    ),
  ]);
  const successOf = new Map(covered.map((problem, index) => [problem, successes[index] ?? null]));
  return problems.map((problem) => {
    const { checkId, projectId, tags, openedAt, at } = problem;
    const timing = timings.get(checkId);
    if (timing === undefined) return null;
    return silencedUntil(silences.get(projectId) ?? [], {
      check: { id: checkId, tags, timing },
      alert: { openedAt, lastSuccessAt: successOf.get(problem) ?? null },
      now: at,
    });
  });
}
