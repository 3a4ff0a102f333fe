// The kinds of requests that are measured: method, path, project and concurrency.
import type { ApiSize } from "./sizes.ts";
import type { ProjectName } from "./stage.ts";

export type Work = {
  name: "create" | "get" | "unique_key_get" | "update" | "list_small" | "list_large";
  /** The prefix of the figures. */
  figure: string;
  method: "GET" | "POST";
  /** UUID is replaced by a check of the small project, by its UUID or by its unique key. */
  path: string;
  namedBy?: "uuid" | "uniqueKey";
  project: ProjectName;
  /** COUNTER is replaced by a unique text. */
  body: string;
  connections: number;
  /** How long the last responses may take on a busy machine. */
  drainSeconds: number;
};

const DRAIN_SECONDS = 2;
/** wrk is idle for the rest of its time, so this costs nothing but time. */
const LIST_DRAIN_SECONDS = 10;

/** All of them, in display order. */
export function worksOf({ connections, listConnections, small, large, isFull }: ApiSize): readonly Work[] {
  const about = { name: "COUNTER", tags: "prod db", timeout: 3_600, grace: 600, channels: "*" };
  const checks = "/api/v3/checks/";
  const list = (name: "list_small" | "list_large", project: ProjectName, count: number): Work => ({
    name,
    figure: `list_${count}`,
    method: "GET",
    path: checks,
    project,
    body: "",
    connections: listConnections,
    drainSeconds: isFull && name === "list_large" ? LIST_DRAIN_SECONDS : DRAIN_SECONDS,
  });
  const one = { connections, drainSeconds: DRAIN_SECONDS };
  const change = { method: "POST", ...one } as const;
  return [
    {
      name: "create",
      figure: "create",
      ...change,
      path: checks,
      project: "empty",
      body: JSON.stringify(about),
    },
    {
      name: "get",
      figure: "get",
      method: "GET",
      path: `${checks}UUID`,
      namedBy: "uuid",
      project: "small",
      body: "",
      ...one,
    },
    {
      name: "unique_key_get",
      figure: "unique_key_get",
      method: "GET",
      path: `${checks}UUID`,
      namedBy: "uniqueKey",
      project: "small",
      body: "",
      ...one,
    },
    {
      name: "update",
      figure: "update",
      ...change,
      path: `${checks}UUID`,
      namedBy: "uuid",
      project: "small",
      body: JSON.stringify({ name: "COUNTER", tags: "prod db", timeout: 3_600 }),
    },
    list("list_small", "small", small),
    list("list_large", "large", large),
  ];
}
