// The lines that a check's history gets when we cannot answer for a stretch of time.
import type { Instant } from "../core/instant.ts";
import type { Passage } from "../core/machine/deadline.ts";
import type { CheckEvent } from "../store/history/events.ts";

/** One event for each deadline that our blindness excused, and one for a deadline that passed unseen. */
export function notObservedEvents(
  { notices, unseen }: Pick<Passage, "notices" | "unseen">,
  { checkId, at }: { checkId: number; at: Instant },
): Omit<CheckEvent, "id">[] {
  const details = [
    ...notices.map(({ deadline, blind }) => ({ ...deadline, blind })),
    ...(unseen === null ? [] : [{ ...unseen, blind: null }]),
  ];
  return details.map((detail) => ({ checkId, at, kind: "not_observed", accountId: null, detail }));
}
