// The messages between the known checks and their thread.
import type { KnownList } from "./file.ts";
import type { FingerprintSecret } from "./fingerprint.ts";
import type { Day } from "./table.ts";

export type KnownRequest =
  | { kind: "open" }
  | { kind: "load" }
  | { kind: "save"; changes: KnownList; today: Day }
  | { kind: "close" };

export type KnownAnswer = {
  /** The answer to `open`. */
  secret: FingerprintSecret | null;
  /** The answer to `load` and `save`. */
  list: KnownList | null;
  /** The error, or null. */
  failed: string | null;
};
