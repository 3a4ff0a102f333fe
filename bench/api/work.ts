// The kinds of work that are measured: what is asked, of which project, and by how many at once.
import type { ApiSize } from "./sizes.ts";
import type { ProjectName } from "./stage.ts";

export type Work = {
  name: "create" | "get" | "unique_key_get" | "update" | "list_small" | "list_large";
  /** What the figures are called after. */
  figure: string;
  method: "GET" | "POST";
  /** UUID stands for a check of the small project, by its UUID or by its unique key. */
  path: string;
  namedBy?: "uuid" | "uniqueKey";
  project: ProjectName;
  /** COUNTER stands for a text that no other request has. */
  body: string;
  connections: number;
  /** For how long the last answers may take on a busy machine. */
  drainSeconds: number;
};

const DRAIN_SECONDS = 2;
/** The rest of wrk's time is idle, so this costs nothing but patience. */
const LIST_DRAIN_SECONDS = 10;

/** All of them, in the order in which they are shown. */
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
