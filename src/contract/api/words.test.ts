import { describe, expect, test } from "vitest";
import type { EventRow } from "./history.ts";
import { eventSentence } from "./words.ts";

const AT = Date.UTC(2026, 10, 17, 9);

function sentence(kind: string, detail: Record<string, unknown>): string {
  const event: Extract<EventRow, { type: "event" }> = {
    type: "event",
    id: 1,
    at: AT,
    kind,
    by: null,
    detail,
  };
  return eventSentence(event);
}

describe("the sentence of an event", () => {
  test("of a late end says how long ago the run had ended", () => {
    const endedAt = AT - 3 * 3_600_000 - 120_000;
    expect(sentence("late_end", { outcome: "success", endedAt, ranMs: null })).toBe(
      "late report of a success: the run ended 3 h 2 min earlier",
    );
    expect(sentence("late_end", { outcome: "fail", endedAt: AT, ranMs: 1 })).toBe(
      "late report of a failure: the run ended 0 sec earlier",
    );
  });

  test("of ignored settings has the warning", () => {
    const warning = "Ignored settings: tz is not a valid timezone.";
    expect(sentence("settings_ignored", { warning })).toBe(`was created by a ping. ${warning}`);
  });

  test("of a kind with unknown details, or of an unknown kind, is its name", () => {
    expect(sentence("late_end", {})).toBe("late end");
    expect(sentence("paused", {})).toBe("was paused");
  });
});
