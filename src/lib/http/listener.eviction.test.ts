import { expect, test } from "vitest";
import { type Evictable, EvictionOrder } from "./listener.ts";

type Item = Evictable & { name: string; isBusy: boolean };

const isBusy = (item: Item) => item.isBusy;

function orderOf(networkShare: number, names: readonly string[]) {
  const order = new EvictionOrder<Item>({ networkShare });
  const items = new Map<string, Item>();
  for (const name of names) {
    const letter = name.slice(0, 1);
    const item = { name, network: letter === "-" ? null : letter, isUsed: false, isBusy: false };
    items.set(name, item);
    order.add(item);
  }
  const item = (name: string): Item => items.get(name) ?? expect.fail(name);
  /** Closes one after the other until none is left. */
  const closed = (count = names.length) =>
    Array.from({ length: count }, () => {
      const next = order.next(isBusy);
      if (next !== null) order.remove(next);
      return next?.name ?? null;
    });
  return { order, item, closed };
}

test("the oldest is closed first while no network holds more than its share", () => {
  const { closed } = orderOf(2, ["a1", "b1", "a2", "c1"]);
  expect(closed(5)).toEqual(["a1", "b1", "a2", "c1", null]);
});

test("the network that holds the most is reduced to its share first", () => {
  const { closed } = orderOf(2, ["a1", "b1", "b2", "b3", "c1", "c2", "c3", "c4", "a2"]);
  expect(closed(6)).toEqual(["c1", "b1", "c2", "a1", "b2", "b3"]);
});

test("connections that belong to no single client have no share", () => {
  const { closed } = orderOf(1, ["a1", "-1", "-2", "-3", "b1"]);
  expect(closed(2)).toEqual(["a1", "-1"]);
});

test("an item that was used is passed over once", () => {
  const { item, closed } = orderOf(5, ["a1", "a2", "a3"]);
  item("a1").isUsed = true;
  expect(closed(3)).toEqual(["a2", "a3", "a1"]);
});

test("busy items are left out until they are added again", () => {
  const { order, item, closed } = orderOf(1, ["a1", "a2", "b1"]);
  for (const name of ["a1", "a2", "b1"]) item(name).isBusy = true;
  expect(closed(1)).toEqual([null]);
  item("a2").isBusy = false;
  expect(closed(1)).toEqual([null]);
  order.add(item("a2"));
  order.add(item("a2"));
  expect(closed(2)).toEqual(["a2", null]);
});
