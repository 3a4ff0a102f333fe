// A signal that a person gives by pressing a button: recorded as any other, in a transaction of its own. It comes from
// no intake, so it has no number: whoever pressed waits for the commit, and presses again if there was none.
import type { AcceptedSignal } from "../../core/accepted.ts";
import { applyBatch, type RecordOptions } from "../record-signals.ts";
import { lockTargetsOf } from "../recording/resolve-targets.ts";
import type { Database } from "../../store/db.ts";
import type { Command } from "../change-check.ts";
import { auditCheck } from "./audit-check.ts";
import { type Absent, lockCheck } from "./locked-check.ts";
import { inRetriedTransaction } from "./retried.ts";

export type SignalNow = Command & {
  uuid: string;
  remoteAddr: string | null;
  ua: string;
} & Pick<RecordOptions, "pingLogRows" | "rules">;

/** Records a success of a check now. What it does is decided as for any signal. */
export function signalNow(database: Database, request: SignalNow): Promise<{ kind: "recorded" } | Absent> {
  const { uuid, at, sight, rules, pingLogRows, remoteAddr, ua } = request;
  const signal: AcceptedSignal = {
    target: { by: "uuid", uuid },
    // As a POST: a check that takes nothing else takes this.
    source: { by: "http", action: "success", method: "POST" },
    rid: null,
    exitStatus: null,
    scheme: "https",
    remoteAddr,
    ua,
    body: null,
    at,
  };
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, request);
    if ("kind" in locked) return locked;
    const targets = await lockTargetsOf(tx, [signal]);
    const [result] = await applyBatch(tx, [signal], { sight, rules, pingLogRows, replayed: false, targets });
    if (result !== "recorded") return { kind: "not found" };
    await auditCheck(tx, { what: "check.pinged", check: locked.check, by: request, at });
    return { kind: "recorded" };
  });
}
