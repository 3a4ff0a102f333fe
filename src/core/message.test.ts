// The contents of a message: single cases as a table, and properties of every history.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MINUTE_MS } from "./instant.ts";
import { composeChanges, groupDirection, type PendingChange } from "./message.ts";
import type { Flip } from "./state.ts";

const NOON = Date.UTC(2026, 10, 16, 12);
const BOTH = () => true;
const SENT_FAILURE: PendingChange["flip"] = {
  id: 50,
  at: NOON - 3 * MINUTE_MS,
  from: "up",
  to: "down",
  reason: "fail",
  retractedAt: null,
};

/**
 * Each letter is a change, a minute apart: d missed deadline, f failure, u up, x retracted missed deadline, c its
 * correction, r a reminder of a failure that was sent before.
 */
function newsOf(letters: string): PendingChange[] {
  let status: "up" | "down" = letters.startsWith("u") ? "down" : "up";
  let retracted: PendingChange["flip"] | null = null;
  return Array.from(letters).map((letter, index) => {
    const at = NOON + index * MINUTE_MS;
    const id = index + 1;
    if (letter === "c") {
      // Of the last one that was retracted, or of one that was sent long ago.
      const old = { id: 100 + id, at: NOON - MINUTE_MS, from: "up", to: "down", reason: "timeout" } as const;
      const flip = retracted ?? { ...old, retractedAt: NOON - 2 * MINUTE_MS };
      return { deliveryId: id, kind: "correction", flip };
    }
    if (letter === "r") {
      return { deliveryId: id, kind: "repeat", flip: SENT_FAILURE };
    }
    const to = letter === "u" ? "up" : "down";
    const reason = letter === "u" ? "success" : letter === "f" ? "fail" : "timeout";
    const flip = { id, at, from: status, to, reason, retractedAt: letter === "x" ? at - 1 : null } as const;
    if (letter === "x") retracted = flip;
    else status = to;
    return { deliveryId: id, kind: "flip", flip };
  });
}

function included(
  letters: string,
  isSubscribed: (direction: "down" | "up") => boolean = BOTH,
  before: Flip | null = null,
) {
  return composeChanges(newsOf(letters), { isSubscribed, before });
}

const names = (flips: readonly Flip[]) =>
  flips.map(({ at, reason }) => `${reason}@${(at - NOON) / MINUTE_MS}`);

describe("one message", () => {
  test.each([
    ["d", "down", "timeout", ["timeout@0"], 0],
    ["u", "up", "success", ["success@0"], 0],
    ["du", "up", "success", ["timeout@0", "success@1"], 0],
    ["dufuf", "down", "fail", ["timeout@0", "success@1", "fail@2", "success@3", "fail@4"], 0],
    ["fu", "up", "success", ["fail@0", "success@1"], 0],
    ["xf", "down", "fail", ["fail@1"], 0],
    ["fux", "up", "success", ["fail@0", "success@1"], 0],
    ["c", "up", "retracted", [], 1],
    ["cf", "down", "fail", ["fail@1"], 1],
    ["cfu", "up", "success", ["fail@1", "success@2"], 1],
  ])("%s says %s because of %s, and names %j", (letters, kind, reason, flips, corrections) => {
    const { message } = included(letters);
    expect(message).toMatchObject({ kind, reason });
    expect(names(message?.flips ?? [])).toEqual(flips);
    expect(message?.corrections).toHaveLength(corrections);
  });

  test.each(["x", "xc"])("%s is not sent, because no notification was sent before", (letters) => {
    const ids = newsOf(letters).map(({ deliveryId }) => deliveryId);
    expect(included(letters)).toEqual({ message: null, included: [], withdrawn: ids, skipped: [] });
  });

  test("a correction states when the ping was received", () => {
    expect(included("c").message).toMatchObject({
      since: NOON - 2 * MINUTE_MS,
      corrections: [{ at: NOON - MINUTE_MS, retractedAt: NOON - 2 * MINUTE_MS }],
    });
  });

  test("an up message states how long the check was down, if the start is known", () => {
    const before: Flip = { at: NOON - 7 * MINUTE_MS, from: "up", to: "down", reason: "fail" };
    expect(included("du").message?.downtimeMs).toBe(MINUTE_MS);
    expect(included("u", BOTH, before).message?.downtimeMs).toBe(7 * MINUTE_MS);
    expect(included("u", BOTH, { ...before, to: "up" }).message?.downtimeMs).toBeNull();
    expect(included("u").message?.downtimeMs).toBeNull();
    expect(included("ud").message?.downtimeMs).toBeNull();
  });
});

describe("a reminder", () => {
  test("is sent alone, as a message about the problem", () => {
    const { message, ...parts } = included("r");
    expect(message).toMatchObject({
      kind: "down",
      isRepeat: true,
      reason: "fail",
      since: NOON - 3 * MINUTE_MS,
      flips: [],
      downtimeMs: null,
    });
    expect(parts).toEqual({ included: [1], withdrawn: [], skipped: [] });
  });

  test.each(["ru", "rd", "dr", "rud"])("is replaced by a change: %s", (letters) => {
    const { message, withdrawn } = included(letters);
    expect(message?.isRepeat).toBe(false);
    expect(withdrawn).toEqual([letters.indexOf("r") + 1]);
  });

  test("is not replaced by a change that was retracted", () => {
    expect(included("rx")).toMatchObject({ message: { isRepeat: true }, included: [1], withdrawn: [2] });
  });

  test("of an alert that was retracted is not sent", () => {
    const flip = { ...SENT_FAILURE, retractedAt: NOON };
    const changes: PendingChange[] = [
      { deliveryId: 1, kind: "repeat", flip },
      { deliveryId: 2, kind: "correction", flip },
    ];
    const composed = composeChanges(changes, { isSubscribed: BOTH, before: null });
    expect(composed).toMatchObject({ message: { kind: "up", isRepeat: false }, withdrawn: [1] });
  });

  test("that has to wait is sent once", () => {
    expect(included("rrr")).toMatchObject({ message: { isRepeat: true }, included: [1, 2, 3] });
  });

  test("is not sent to a channel that only notifies when a check comes back up", () => {
    expect(included("r", (direction) => direction === "up")).toMatchObject({ message: null, skipped: [1] });
  });
});

test.each([
  ["down", 3, 0, "down"],
  ["update", 1, 2, "down"],
  ["update", 0, 2, "up"],
  ["update", 0, 0, "down"],
  ["up", 0, 2, "up"],
  ["up", 3, 3, "up"],
] as const)(
  "a group message (%s, %i down, %i up) notifies for %s",
  (state, openedCount, closedCount, direction) => {
    expect(groupDirection({ state, openedCount, closedCount })).toBe(direction);
  },
);

describe("a channel that is subscribed to one direction", () => {
  test("is notified that the check was down although it is up again", () => {
    const composed = included("du", (direction) => direction === "down");
    expect(composed).toMatchObject({ included: [1], skipped: [2], withdrawn: [] });
    expect(composed.message).toMatchObject({ kind: "down", reason: "timeout", since: NOON });
    expect(composed.message?.flips).toHaveLength(2);
  });

  test("is not notified of the other direction", () => {
    expect(included("u", (direction) => direction === "down")).toMatchObject({ message: null, skipped: [1] });
    expect(included("c", (direction) => direction === "down")).toMatchObject({ message: null, skipped: [1] });
    expect(included("d", (direction) => direction === "up")).toMatchObject({ message: null, skipped: [1] });
  });
});

describe("whatever has gathered", () => {
  const histories = fc.array(fc.constantFrom("d", "f", "u", "x", "c", "r"), { minLength: 1, maxLength: 30 });
  const ears = fc.record({ down: fc.boolean(), up: fc.boolean() });

  test("every delivery is settled in exactly one way", () => {
    fc.assert(
      fc.property(histories, ears, (letters, ear) => {
        const composed = included(letters.join(""), (direction) => ear[direction]);
        const all = [...composed.included, ...composed.withdrawn, ...composed.skipped];
        expect(all.toSorted((a, b) => a - b)).toEqual(letters.map((_, index) => index + 1));
        expect(composed.message === null).toBe(composed.included.length === 0);
      }),
    );
  });

  test("no message is composed only if everything was retracted, and nothing retracted is mentioned", () => {
    fc.assert(
      fc.property(histories, (letters) => {
        const changes = newsOf(letters.join(""));
        const composed = composeChanges(changes, { isSubscribed: BOTH, before: null });
        expect(composed.skipped).toEqual([]);
        const standing = changes.filter(({ kind, flip }) => kind === "flip" && flip.retractedAt === null);
        if (composed.message === null) expect(standing).toEqual([]);
        else expect(composed.message.flips).toHaveLength(standing.length);
      }),
    );
  });

  test("every explicit failure is named, and the message is about the last subscribed change", () => {
    fc.assert(
      fc.property(histories, (letters) => {
        const { message } = included(letters.join(""));
        const failures = message?.flips.filter(({ reason }) => reason === "fail") ?? [];
        expect(failures).toHaveLength(letters.filter((letter) => letter === "f").length);
        const last = letters.findLast((letter) => letter !== "x" && letter !== "c" && letter !== "r");
        if (message !== null && message.reason !== "retracted" && !message.isRepeat) {
          expect(message.kind).toBe(last === "u" ? "up" : "down");
        }
      }),
    );
  });
});
