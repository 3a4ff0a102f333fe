// One finger swipes a row; other touches neither move the row nor leave it displaced.
import { beforeEach, expect, test, vi } from "vitest";
import { swipeHandlers } from "./checks-list.tsx";

/** A row with the properties that a touch uses. */
function makeRow() {
  const act = vi.fn<() => void>();
  const styles = new Map<string, string>();
  const listeners = new Set<(event: TouchEvent) => void>();
  const place = {
    dataset: {} as Record<string, string | undefined>,
    style: {
      setProperty: (name: string, value: string) => styles.set(name, value),
      removeProperty: (name: string) => styles.delete(name),
    },
    setPointerCapture: () => undefined,
    addEventListener: (_type: string, hear: (event: TouchEvent) => void) => listeners.add(hear),
    removeEventListener: (_type: string, hear: (event: TouchEvent) => void) => listeners.delete(hear),
  };
  /** Whether the browser's default action is prevented. */
  const isTaken = () => {
    const preventDefault = vi.fn<() => void>();
    for (const hear of listeners) hear({ cancelable: true, preventDefault } as unknown as TouchEvent);
    return preventDefault.mock.calls.length > 0;
  };
  const hands = swipeHandlers("Pause", act);
  const touch = (pointerId: number, clientX: number, isPrimary = true, clientY = 0) =>
    ({
      currentTarget: place,
      clientX,
      clientY,
      pointerId,
      isPrimary,
      pointerType: "touch",
    }) as unknown as React.PointerEvent<HTMLElement>;
  return { act, hands, touch, isTaken, look: () => [place.dataset["swipe"], styles.get("--swipe")] };
}

const AT_REST = [undefined, undefined];
let row = makeRow();
beforeEach(() => {
  row = makeRow();
});

test("a finger that moves far enough triggers the action, and the row returns", () => {
  const { act, hands, touch, look } = row;
  hands.onPointerDown(touch(1, 300));
  hands.onPointerMove(touch(1, 180));
  expect(look()).toEqual(["meant", "-120px"]);
  hands.onPointerUp(touch(1, 180));
  expect(look()).toEqual(AT_REST);
  expect(act).toHaveBeenCalledOnce();
});

test("a second finger, on the same row or another, changes nothing", () => {
  const other = makeRow();
  row.hands.onPointerDown(row.touch(1, 300));
  row.hands.onPointerMove(row.touch(1, 180));
  for (const { hands, touch } of [row, other]) {
    hands.onPointerDown(touch(2, 300, false));
    hands.onPointerMove(touch(2, 320, false));
    hands.onPointerUp(touch(2, 320, false));
  }
  expect(row.look()).toEqual(["meant", "-120px"]);
  expect(other.look()).toEqual(AT_REST);
  row.hands.onPointerUp(row.touch(1, 180));
  expect(row.look()).toEqual(AT_REST);
  expect([row.act.mock.calls.length, other.act.mock.calls.length]).toEqual([1, 0]);
});

test("a row whose touch was lost returns at the next touch", () => {
  const other = makeRow();
  row.hands.onPointerDown(row.touch(1, 300));
  row.hands.onPointerMove(row.touch(1, 180));
  other.hands.onPointerDown(other.touch(2, 300));
  expect(row.look()).toEqual(AT_REST);
  other.hands.onPointerCancel(other.touch(2, 300));
  expect([row.act.mock.calls.length, other.act.mock.calls.length]).toEqual([0, 0]);
});

test.each([
  ["to the left", -20, 4, true],
  ["to the right", 20, 4, true],
  ["down", 8, 20, false],
  ["up", -8, -20, false],
  ["hardly", -8, 8, false],
])("a finger that goes %s is taken from the browser only when it goes to a side", (_, x, y, expected) => {
  const { hands, touch, isTaken } = row;
  hands.onPointerDown(touch(1, 300));
  hands.onPointerMove(touch(1, 300 + x, true, y));
  expect(isTaken()).toBe(expected);
  hands.onPointerUp(touch(1, 300 + x, true, y));
  expect(isTaken()).toBe(false);
});
