import { createHash } from "node:crypto";
import type { AcceptedSignal } from "../../../src/core/signal.ts";
import type { LoggedAction } from "./action-log.ts";

/** The ping of a job as an intake accepts it; `at` is the time of receipt on the database clock. */
export function signalOf(
  { what, rid, check, at }: LoggedAction & { what: "success" | "fail" | "start" | "log"; at: number },
  uuid: string,
): AcceptedSignal {
  return {
    target: { by: "uuid", uuid },
    source: { by: "http", action: what, method: "POST" },
    rid: rid === null ? null : ridUuid(`${check} ${rid}`),
    exitStatus: null,
    scheme: "http",
    remoteAddr: null,
    ua: "",
    body: null,
    at,
  };
}

/** Maps a run ID to a UUID that is unique to its check. */
function ridUuid(text: string): string {
  const hex = createHash("sha1").update(text).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
