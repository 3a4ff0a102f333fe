// A signal of a world as an intake accepts it.
import { createHash } from "node:crypto";
import type { AcceptedSignal } from "../../../src/core/signal.ts";
import type { LoggedAction } from "./action-log.ts";

/** The signal that a job sends; `at` is when it is received, on the database's clock. */
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

/** The same run id is the same UUID, and none is shared by two checks. */
function ridUuid(text: string): string {
  const hex = createHash("sha1").update(text).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
