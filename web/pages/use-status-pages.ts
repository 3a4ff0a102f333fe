// The status pages of a project.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "../api.ts";

/** All cached status pages of a project have this key as their prefix. */
export const statusPagesKey = (project: string) => ["status-pages", project] as const;

/** Their states change with every flip. */
const REFRESH_MS = 30_000;

export function useStatusPages(project: string) {
  return useQuery({
    queryKey: [...statusPagesKey(project), "current"],
    queryFn: async ({ signal }) => (await call("listStatusPages", { project, query: {} }, signal)).pages,
    refetchInterval: REFRESH_MS,
  });
}

/** Pages that can be restored. */
export function useDeletedPages(project: string) {
  return useQuery({
    queryKey: [...statusPagesKey(project), "deleted"],
    queryFn: async ({ signal }) =>
      (await call("listStatusPages", { project, query: { state: "deleted" } }, signal)).pages,
  });
}

export function useRefreshPages(project: string): () => Promise<void> {
  const client = useQueryClient();
  return () => client.invalidateQueries({ queryKey: statusPagesKey(project) });
}
