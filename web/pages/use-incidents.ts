// The incidents of a project. They are refetched when checks go down or up, and regularly: others acknowledge them.
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { LIST_PAGE_MAX } from "../../src/contract/api/limits.ts";
import { call } from "../api.ts";
import { onFlips } from "../live/flips.tsx";

/** All cached incidents of a project have this key as their prefix. */
export const incidentsKey = (project: string) => ["incidents", project] as const;

const REFRESH_MS = 30_000;
/** Notifications are planned in the seconds after a flip. */
const PLANNED_MS = 3_000;

/** How many incidents are open and acknowledged; null until that is known. */
export function useIncidentCounts(project: string | null) {
  const { data } = useQuery({
    queryKey: [...incidentsKey(project ?? ""), "counts"],
    queryFn: ({ signal }) => call("listIncidents", { project: project ?? "", query: { limit: 1 } }, signal),
    enabled: project !== null,
    refetchInterval: REFRESH_MS,
    refetchOnWindowFocus: true,
  });
  const client = useQueryClient();
  useEffect(() => {
    if (project === null) return undefined;
    const timers = new Set<ReturnType<typeof setTimeout>>();
    const leave = onFlips(() => {
      timers.add(
        setTimeout(() => void client.invalidateQueries({ queryKey: incidentsKey(project) }), PLANNED_MS),
      );
    });
    return () => {
      leave();
      for (const timer of timers) clearTimeout(timer);
    };
  }, [client, project]);
  return data?.counts ?? null;
}

/** Incidents that are not resolved, newest first. */
export function useOpenIncidents(project: string) {
  return useQuery({
    queryKey: [...incidentsKey(project), "open"],
    queryFn: ({ signal }) =>
      call("listIncidents", { project, query: { state: "open", limit: LIST_PAGE_MAX } }, signal),
    refetchInterval: REFRESH_MS,
  });
}

export function useResolvedIncidents(project: string) {
  return useInfiniteQuery({
    queryKey: [...incidentsKey(project), "resolved"],
    queryFn: ({ pageParam, signal }) => {
      const query = { state: "resolved", ...(pageParam !== null && { cursor: pageParam }) } as const;
      return call("listIncidents", { project, query }, signal);
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
}

export function useIncident(project: string, incident: number) {
  return useQuery({
    queryKey: [...incidentsKey(project), incident],
    queryFn: ({ signal }) => call("getIncident", { project, incident }, signal),
    refetchInterval: REFRESH_MS,
    refetchOnWindowFocus: true,
  });
}
