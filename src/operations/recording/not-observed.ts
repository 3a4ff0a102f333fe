// The lines that a check's history gets when we cannot answer for a stretch of time.
import type { Passage } from "../../core/machine/deadline.ts";
import type { CheckEvent } from "../../store/history/events.ts";

/**
 * One event for each deadline that our blindness excused, and one for a deadline that passed unseen. They carry the
 * deadline's own time, as a flip does: it must not matter who was quicker.
 */
export function notObservedEvents(
  checkId: number,
  { notices, unseen }: Pick<Passage, "notices" | "unseen">,
): Omit<CheckEvent, "id">[] {
  const details = [
    ...notices.map(({ deadline, blind }) => ({ ...deadline, blind })),
    ...(unseen === null ? [] : [{ ...unseen, blind: null }]),
  ];
  const event = { checkId, kind: "not_observed", accountId: null };
  return details.map((detail) => ({ ...event, at: detail.at, detail }));
}
