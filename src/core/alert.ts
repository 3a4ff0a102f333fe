// An alert: a confirmed problem of one check. Opened and closed by the state machine, notified by the planner.
import type { Instant } from "./instant.ts";
import type { Flip } from "./state.ts";

/** `failed`: reported. `missed`: nothing by the deadline. `overrun`: a run took too long. The others break a run rule. */
export type AlertCause = "failed" | "missed" | "overrun" | "tooFast" | "tooOften";

/** `takenBack`: a success turned out to have been received in time. `resolved`: by a user, while the check was down. */
export type CloseCause = "recovered" | "paused" | "takenBack" | "resolved" | "deleted" | "moved";

/** A change of the alert of a check. `flip` is the flip that happened with it, if there was one. */
export type AlertChange =
  | { kind: "opened"; at: Instant; cause: AlertCause; flip: Flip | null }
  | { kind: "closed"; at: Instant; cause: CloseCause; flip: Flip | null };
