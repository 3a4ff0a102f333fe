// The near misses of a project. They are refetched regularly, because requests come at any time.
import { useQuery } from "@tanstack/react-query";
import { call } from "../api.ts";

/** All cached near misses of a project have this key as their prefix. */
export const nearMissesKey = (project: string) => ["near-misses", project] as const;

const REFRESH_MS = 30_000;
const SHOWN_REFRESH_MS = 5_000;

/** How many are open; 0 until that is known. */
export function useNearMissCount(project: string): number {
  const { data } = useQuery({
    queryKey: [...nearMissesKey(project), "count"],
    queryFn: ({ signal }) => call("listNearMisses", { project, query: { limit: 1 } }, signal),
    refetchInterval: REFRESH_MS,
    refetchOnWindowFocus: true,
  });
  return data?.counts.open ?? 0;
}

export function useNearMisses(project: string, state: "open" | "ignored") {
  return useQuery({
    queryKey: [...nearMissesKey(project), state],
    queryFn: ({ signal }) => call("listNearMisses", { project, query: { state } }, signal),
    refetchInterval: SHOWN_REFRESH_MS,
    refetchOnWindowFocus: true,
  });
}
