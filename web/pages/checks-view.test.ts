// A view is the same after it was written to the URL and read back.
import fc from "fast-check";
import { expect, test } from "vitest";
import { FILTER_STATES, isFiltered, ORDERS, readView, toggled, writeView } from "./checks-view.ts";

test("every view is read as it was written", () => {
  const view = fc.record({
    search: fc.string(),
    tags: fc.uniqueArray(fc.string({ minLength: 1 })),
    states: fc.subarray([...FILTER_STATES]),
    order: fc.constantFrom(...ORDERS),
    isGrouped: fc.boolean(),
  });
  fc.assert(
    fc.property(view, (one) => {
      expect(readView(writeView(one))).toEqual(one);
    }),
  );
});

test("the parameter names are those of Healthchecks", () => {
  const view = readView("?tag=db&tag=prod&search=back&status=started&status=grace&sort=-last_ping");
  expect(view).toEqual({
    search: "back",
    tags: ["db", "prod"],
    states: ["late", "running"],
    order: "-last_ping",
    isGrouped: false,
  });
});

test("unknown values are ignored", () => {
  expect(readView("?sort=colour&status=purple&tag=")).toEqual(readView(""));
  expect(isFiltered(readView(""))).toBe(false);
  expect(isFiltered(readView("?status=up"))).toBe(true);
});

test("a value is added, or removed when it is present", () => {
  expect(toggled(["a"], "b")).toEqual(["a", "b"]);
  expect(toggled(["a", "b"], "a")).toEqual(["b"]);
});
