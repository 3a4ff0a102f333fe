// The data of the check page. It is refetched when the event stream reports a change, at a limited rate.
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import type { CheckPage } from "../../src/contract/api/check-page.ts";
import { call, checkKey, refreshCheck } from "../api.ts";
import { takeBootPage } from "../boot.ts";
import { checksStore } from "../live/checks-store.ts";
import { serverNow } from "../live/clock.ts";

/** Limits the refetches for a check that is pinged every second. */
const REFRESH_MS_MIN = 3_000;
const GATHER_MS = 150;

const embedded = takeBootPage("check")?.check ?? null;

export function useCheckPage(id: string) {
  return useQuery({
    queryKey: checkKey(id),
    queryFn: () => call("getCheck", { check: id }),
    initialDataUpdatedAt: performance.timeOrigin,
    ...(embedded?.row.id === id && { initialData: embedded }),
  });
}

export function useRuns(id: string) {
  return useInfiniteQuery({
    queryKey: [...checkKey(id), "runs"],
    queryFn: ({ pageParam }) =>
      call("listRuns", { check: id, query: pageParam === null ? {} : { cursor: pageParam } }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
}

export function useDurations(id: string) {
  return useQuery({
    queryKey: [...checkKey(id), "durations"],
    queryFn: () => call("listDurations", { check: id }),
  });
}

export function useCheckPolicy(id: string) {
  return useQuery({
    queryKey: [...checkKey(id), "policy"],
    queryFn: () => call("getCheckPolicy", { check: id }),
  });
}

/** Why the check was reported down; the newest time if no flip is given. */
export function useExplanation(id: string, { flip, isWanted }: { flip: number | null; isWanted: boolean }) {
  return useQuery({
    queryKey: [...checkKey(id), "explain", flip],
    queryFn: () => call("explainAlert", { check: id, query: flip === null ? {} : { flip } }),
    enabled: isWanted,
    retry: false,
  });
}

/** The newer row of the page and of the stream. Refetches the page when the check may have been removed. */
export function useLiveRow({ projectId, row }: Pick<CheckPage, "projectId" | "row">): CheckRow {
  const store = checksStore(projectId);
  const { rows, removalVersion, isComplete } = useSyncExternalStore(store.watch, store.snapshot);
  const known = rows.get(row.id);
  const client = useQueryClient();
  const askedAt = useRef(0);
  // All rows are loaded, and it is not among them: it may have been removed before the user returned to its page.
  const isAbsent = isComplete && known === undefined;
  const question = `${removalVersion} ${isAbsent}`;
  const [settled, setSettled] = useState(isAbsent ? null : question);
  const isNews = known !== undefined && known.readingOrder > row.readingOrder && known.change !== row.change;
  const change = known?.change;
  useEffect(() => {
    if (!isNews && question === settled) return undefined;
    const waitMs = Math.max(GATHER_MS, askedAt.current + REFRESH_MS_MIN - serverNow());
    const timer = setTimeout(() => {
      askedAt.current = serverNow();
      setSettled(question);
      void refreshCheck(client, row.id);
    }, waitMs);
    return () => clearTimeout(timer);
  }, [isNews, change, question, settled, client, row.id]);
  return isNews ? known : row;
}
