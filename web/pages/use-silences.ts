// The silences of a project that have not ended, and which checks they silence now.
import { useQuery } from "@tanstack/react-query";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import { LIST_PAGE_MAX } from "../../src/contract/api/limits.ts";
import type { Silence } from "../../src/contract/api/silences.ts";
import { call } from "../api.ts";

/** All cached silences of a project have this key as their prefix. */
export const silencesKey = (project: string) => ["silences", project] as const;

/** Others create and end silences too. */
const REFRESH_MS = 60_000;

/** The silences of a project that have not ended. */
export function useCurrentSilences(project: string) {
  return useQuery({
    queryKey: [...silencesKey(project), "current"],
    queryFn: async ({ signal }) => {
      const query = { state: "current", limit: LIST_PAGE_MAX } as const;
      return (await call("listSilences", { project, query }, signal)).silences;
    },
    refetchInterval: REFRESH_MS,
    refetchOnWindowFocus: true,
  });
}

/** A silence that holds notifications about a check now, and until when. */
export type Silenced = { silence: Silence; until: number };

type Covered = Pick<CheckRow, "id" | "tags" | "state" | "lastPingAt">;

/** The silence of a check that lasts longest; null: it is not silenced. */
export function silencedNow(silences: readonly Silence[], check: Covered, now: number): Silenced | null {
  let longest: Silenced | null = null;
  for (const silence of silences) {
    const { window, state } = silence;
    // Pages know the time to the minute: one that has just begun is active as the server says.
    const isBegun = window !== null && (state === "active" || now >= window.from);
    if (!isBegun || now >= window.until || !covers(silence, check)) continue;
    if (longest === null || window.until > longest.until) longest = { silence, until: window.until };
  }
  return longest;
}

function covers({ checks, tag, untilSuccess, from }: Silence, check: Covered): boolean {
  if (untilSuccess && check.state === "up" && (check.lastPingAt ?? 0) > from) return false;
  if (tag !== null) return check.tags.includes(tag);
  return checks === null || checks.some(({ id }) => id === check.id);
}
