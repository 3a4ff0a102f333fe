// The history of one check: which intake accepted each ping, what was refused, and in which order the server
// recorded them.
import type { CheckHistory, Step } from "../model/history.ts";
import type { Clocks } from "./clocks.ts";
import { routeHashOf, type Receipt, type Reception } from "./receipt.ts";
import { silenceHistory } from "./silence-history.ts";
import { type Action, type CheckPlan, isSilencedBy, type SilencePlan } from "./world.ts";

/** An action and its result. */
export type AppliedStep = {
  step: Step;
  action: Action;
  /** For a ping, whether and where it was accepted. */
  receipt: Receipt | null;
};

export type ReceiptContext = { clocks: Clocks; reception: Reception };

/**
 * The actions of a check in the order in which the server recorded them, without commands that reached no server.
 */
export function appliedSteps(
  plan: CheckPlan,
  checkIndex: number,
  { clocks, reception }: ReceiptContext,
): AppliedStep[] {
  const applied: AppliedStep[] = [];
  for (const action of plan.actions) {
    const { trueAt } = action;
    const at = clocks.receiptAt(trueAt);
    if (
      action.what === "success" ||
      action.what === "fail" ||
      action.what === "start" ||
      action.what === "log"
    ) {
      const receipt = reception.receive(trueAt, routeHashOf({ checkIndex, trueAt }));
      const isAcknowledged = receipt.kind === "accepted";
      const known = { at, trueAt: receipt.kind === "accepted" ? receipt.appliedTrueAt : trueAt };
      const signal = { what: "signal" as const, kind: action.what, rid: action.rid, isAcknowledged };
      applied.push({ step: { ...known, ...signal }, action, receipt });
    } else if (reception.isReachable(trueAt)) {
      const known = { at, trueAt };
      const step: Step =
        action.what === "edit"
          ? { ...known, what: "edit", settings: action.settings }
          : { ...known, what: action.what };
      applied.push({ step, action, receipt: null });
    }
  }
  return applied.toSorted(
    (one, other) => one.step.trueAt - other.step.trueAt || spoolOf(one) - spoolOf(other),
  );
}

/** At the same time, pings without a spool come first, then spool by spool. */
function spoolOf({ receipt }: AppliedStep): number {
  return receipt?.kind === "accepted" && receipt.isReplayed ? receipt.intake : -1;
}

/** The history of a check, as input for the model. */
export function checkHistory(
  plan: CheckPlan,
  checkIndex: number,
  { silences, ...context }: ReceiptContext & { silences: readonly SilencePlan[] },
): CheckHistory {
  const { createdTrueAt, settings } = plan;
  return {
    createdTrueAt,
    settings,
    steps: appliedSteps(plan, checkIndex, context).map(({ step }) => step),
    silences: silences
      .filter((silence) => isSilencedBy(silence, plan))
      .map((silence) => silenceHistory(silence, context.clocks)),
  };
}
