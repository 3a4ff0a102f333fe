// Tags beside a name: as many as fit without cutting the name.
import { expect, test } from "vitest";
import { tagsBeside } from "./checks-list.tsx";

const host = { name: "digest eu-west host-05918", tags: ["prod", "digest", "eu-west"] };

test.each([
  [200, 0],
  [300, 1],
  [348, 2],
  [372, 3],
])("in a column of %i px a name of 25 letters has %i of its three tags beside it", (roomPx, count) => {
  expect(tagsBeside({ ...host, roomPx })).toBe(count);
});

test("the last tag needs no room for a number after it", () => {
  const tags = ["prod", "billing"];
  expect(tagsBeside({ name: "Fetch exchange rates", tags, roomPx: 270 })).toBe(2);
  expect(tagsBeside({ name: "Fetch exchange rates", tags: [...tags, "db"], roomPx: 270 })).toBe(1);
});

test("of many tags only a few are shown, and wide letters count twice", () => {
  const tags = ["a", "b", "c", "d", "e"];
  expect(tagsBeside({ name: "job", tags, roomPx: 900 })).toBe(3);
  expect(tagsBeside({ name: "夜間バックアップ処理", tags: ["prod"], roomPx: 190 })).toBe(0);
  expect(tagsBeside({ name: "nightly 10", tags: ["prod"], roomPx: 190 })).toBe(1);
});
