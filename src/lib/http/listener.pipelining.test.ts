// The order in which the requests of a connection are handled.
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { RequestQueue } from "./listener.ts";

test("the first request of a connection does not wait, and later ones wait for its end", async () => {
  const turns = new RequestQueue();
  const socket = new Socket();
  const first = turns.take(socket);
  const second = turns.take(socket);
  const third = turns.take(socket);
  expect(first.before).toBeNull();
  const order: string[] = [];
  void second.before?.then(() => order.push("second"));
  void third.before?.then(() => order.push("third"));
  await Promise.resolve();
  expect(order).toEqual([]);
  first.end();
  await second.before;
  expect(order).toEqual(["second"]);
  second.end();
  await third.before;
  expect(order).toEqual(["second", "third"]);
  third.end();
  expect(turns.take(socket).before).toBeNull();
});

test("connections do not wait for each other", () => {
  const turns = new RequestQueue();
  turns.take(new Socket());
  expect(turns.take(new Socket()).before).toBeNull();
});
