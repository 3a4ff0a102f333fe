// Why an alert was raised, step by step: what was expected, what came, which rule it was, and who was told when.
import type { Explanation, ExplanationStep } from "../../../contract/web/history.ts";
import { AppError, ERROR_TEXT } from "../../../core/errors.ts";
import { DAY_MS, type Instant, SECOND_MS } from "../../../core/instant.ts";
import { graceMs } from "../../../core/machine/status.ts";
import { stretchAt, type Zone, zoneOf } from "../../../core/schedule/zone.ts";
import type { CheckWithState } from "../../../store/checks/checks.ts";
import { listEvents } from "../../../store/history/events.ts";
import { listFlips, type StoredFlip } from "../../../store/history/flips.ts";
import type { WebHouse } from "../house.ts";
import { whenSentence } from "./expectation.ts";
import { FLIPS_READ_MAX, type KeptPing, readLog } from "./kept-log.ts";
import { readDeliveries, toldFlip } from "./told.ts";

/** A change of the clocks is worth a word for so long. */
const CLOCK_CHANGE_TOLD_MS = 31 * DAY_MS;

/**
 * The explanation of one flip; without one, of the newest to down, or else of the newest. Throws "not found" when
 * there is none.
 */
export async function readExplanation(
  house: WebHouse,
  { check, flipId }: { check: CheckWithState; flipId: number | null },
): Promise<Explanation> {
  const flips = await listFlips(house.database, { checkId: check.id, limit: FLIPS_READ_MAX });
  const flip =
    flipId === null
      ? (flips.find(({ to }) => to === "down") ?? flips[0])
      : flips.find(({ id }) => id === flipId);
  if (flip === undefined) throw new AppError("not_found", ERROR_TEXT.notFound);
  const [log, told, edits] = await Promise.all([
    readLog(house, check),
    readDeliveries(house.database, { flipId: flip.id, projectId: check.projectId }),
    listEvents(house.database, { checkId: check.id, from: flip.at + 1, kind: "edited", limit: 1 }),
  ]);
  const before = log.filter(({ at }) => at <= flip.at);
  const steps: ExplanationStep[] = [
    ...(flip.to === "down" ? stepsDown(check, { flip, before }) : stepsUp(flip, before)),
    ...(flip.takenBackAt === null ? [] : [{ kind: "takenBack" as const, at: flip.takenBackAt }]),
    ...told.map((delivery) => ({
      kind: "told" as const,
      at: delivery.settledAt ?? delivery.attemptedAt ?? delivery.createdAt,
      ...delivery,
    })),
  ];
  return {
    flip: toldFlip(flip),
    zone: check.settings.kind === "simple" ? "UTC" : check.settings.tz,
    steps: steps.toSorted((one, other) => one.at - other.at),
    isEditedSince: edits.length > 0,
  };
}

type Past = { flip: StoredFlip; before: readonly KeptPing[] };

/** When the signal was expected whose absence made a flip; null: something failed, or a run had begun and took too long. */
export function missedAt(
  { settings }: Pick<CheckWithState, "settings">,
  { flip, before }: Past,
): Instant | null {
  if (flip.reason !== "timeout") return null;
  const dueAt = flip.at - graceMs(settings);
  const start = before.find(({ kind }) => kind === "start");
  return start?.at === dueAt ? null : dueAt;
}

function stepsDown(check: CheckWithState, { flip, before }: Past): ExplanationStep[] {
  const { graceSeconds } = check.settings;
  const success = before.find(({ kind }) => kind === "success");
  const start = before.find(({ kind }) => kind === "start");
  const came: ExplanationStep[] =
    success === undefined ? [] : [{ kind: "success", at: success.at, n: success.n }];
  if (flip.reason === "fail") {
    const fail = before.find(({ kind, at }) => kind === "fail" && at === flip.at);
    const failed = { at: flip.at, n: fail?.n ?? null, exitStatus: fail?.exitStatus ?? null };
    const started = start !== undefined && start.at > (success?.at ?? 0) ? [startStep(start.at)] : [];
    return [
      ...came,
      ...started,
      { kind: "failed", ...failed },
      { kind: "down", at: flip.at, rule: "failure", graceSeconds },
    ];
  }
  const dueAt = missedAt(check, { flip, before });
  if (dueAt === null && start !== undefined) {
    return [...came, startStep(start.at), { kind: "down", at: flip.at, rule: "overrun", graceSeconds }];
  }
  const expected = dueAt === null ? [] : [expectedStep(check, dueAt)];
  return [...came, ...expected, { kind: "down", at: flip.at, rule: "silence", graceSeconds }];
}

function stepsUp(flip: StoredFlip, before: readonly KeptPing[]): ExplanationStep[] {
  const success = before.find(({ kind, at }) => kind === "success" && at === flip.at);
  return [
    { kind: "success", at: flip.at, n: success?.n ?? null },
    { kind: "up", at: flip.at },
  ];
}

function startStep(at: Instant): ExplanationStep {
  return { kind: "started", at };
}

/** The expected time with the arithmetic of its zone. */
function expectedStep({ settings }: CheckWithState, at: Instant): ExplanationStep {
  const expected = { kind: "expected" as const, at, sentence: whenSentence(settings) };
  const zone = settings.kind === "simple" ? null : zoneOf(settings.tz);
  if (zone === null) return { ...expected, offsetMinutes: 0, clockChange: null };
  const offsetMinutes = offsetMinutesAt(zone, at);
  return { ...expected, offsetMinutes, clockChange: clockChangeBefore(zone, at) };
}

function offsetMinutesAt(zone: Zone, at: Instant): number {
  return stretchAt(zone, Math.floor(at / SECOND_MS)).offset / 60;
}

/** The change of the clocks that lies before an instant, if it is not long ago; found by halving. */
function clockChangeBefore(zone: Zone, at: Instant): { at: Instant; beforeMinutes: number } | null {
  const beforeMinutes = offsetMinutesAt(zone, at - CLOCK_CHANGE_TOLD_MS);
  if (beforeMinutes === offsetMinutesAt(zone, at)) return null;
  let [from, to] = [at - CLOCK_CHANGE_TOLD_MS, at];
  while (to - from > SECOND_MS) {
    const middle = Math.floor((from + to) / 2 / SECOND_MS) * SECOND_MS;
    if (offsetMinutesAt(zone, middle) === beforeMinutes) from = middle;
    else to = middle;
  }
  return { at: to, beforeMinutes };
}
