// One finger swipes a row; whatever else touches the screen meanwhile neither moves it nor leaves it aside.
import { beforeEach, expect, test, vi } from "vitest";
import { swiped } from "./swipe.ts";

/** A row, as far as a finger finds it. */
function makeRow() {
  const act = vi.fn<() => void>();
  const styles = new Map<string, string>();
  const place = {
    dataset: {} as Record<string, string | undefined>,
    style: {
      setProperty: (name: string, value: string) => styles.set(name, value),
      removeProperty: (name: string) => styles.delete(name),
    },
    setPointerCapture: () => undefined,
  };
  const hands = swiped("Pause", act);
  const touch = (pointerId: number, clientX: number, isPrimary = true) =>
    ({
      currentTarget: place,
      clientX,
      clientY: 0,
      pointerId,
      isPrimary,
      pointerType: "touch",
    }) as unknown as React.PointerEvent<HTMLElement>;
  return { act, hands, touch, look: () => [place.dataset["swipe"], styles.get("--swipe")] };
}

const AT_REST = [undefined, undefined];
let row = makeRow();
beforeEach(() => {
  row = makeRow();
});

test("a finger that goes far enough means it, and the row comes back", () => {
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

test("a row whose finger was lost goes back when the next one comes", () => {
  const other = makeRow();
  row.hands.onPointerDown(row.touch(1, 300));
  row.hands.onPointerMove(row.touch(1, 180));
  other.hands.onPointerDown(other.touch(2, 300));
  expect(row.look()).toEqual(AT_REST);
  other.hands.onPointerCancel(other.touch(2, 300));
  expect([row.act.mock.calls.length, other.act.mock.calls.length]).toEqual([0, 0]);
});
