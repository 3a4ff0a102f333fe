// What became of the acts of one check: who took each signal, what was refused, and in which order the house came
// to know of them.
import type { CheckHistory, Step } from "../model/history.ts";
import type { Clocks } from "./clocks.ts";
import { lotOf, type Receipt, type Reception } from "./receipt.ts";
import type { Act, CheckPlan } from "./world.ts";

/** An act as it was played. */
export type PlayedStep = {
  step: Step;
  act: Act;
  /** Of a signal: who took it. */
  receipt: Receipt | null;
};

export type Way = { clocks: Clocks; reception: Reception };

/** The acts of a check in the order in which the house came to know of them; what nobody could take is left out. */
export function playedSteps(plan: CheckPlan, checkIndex: number, { clocks, reception }: Way): PlayedStep[] {
  const played: PlayedStep[] = [];
  for (const act of plan.acts) {
    const { trueAt } = act;
    const at = clocks.receiptAt(trueAt);
    if (act.what === "success" || act.what === "fail" || act.what === "start" || act.what === "log") {
      const receipt = reception.receive(trueAt, lotOf({ checkIndex, trueAt }));
      const isAcknowledged = receipt.kind === "taken";
      const known = { at, trueAt: receipt.kind === "taken" ? receipt.appliedTrueAt : trueAt };
      const signal = { what: "signal" as const, kind: act.what, rid: act.rid, isAcknowledged };
      played.push({ step: { ...known, ...signal }, act, receipt });
    } else if (reception.isServed(trueAt)) {
      const known = { at, trueAt };
      const step: Step =
        act.what === "edit"
          ? { ...known, what: "edit", settings: act.settings }
          : { ...known, what: act.what };
      played.push({ step, act, receipt: null });
    }
  }
  return played.toSorted(
    (one, other) => one.step.trueAt - other.step.trueAt || spoolOf(one) - spoolOf(other),
  );
}

/** What is given to the database in the same moment comes spool by spool, and after what needed none. */
function spoolOf({ receipt }: PlayedStep): number {
  return receipt?.kind === "taken" && receipt.isReplayed ? receipt.intake : -1;
}

/** The past of a check, as the model is told it. */
export function checkHistory(plan: CheckPlan, checkIndex: number, way: Way): CheckHistory {
  const { createdTrueAt, settings } = plan;
  return { createdTrueAt, settings, steps: playedSteps(plan, checkIndex, way).map(({ step }) => step) };
}
