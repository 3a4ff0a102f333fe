// Search results for a few typed letters, and their order.
import { expect, test } from "vitest";
import { rankEntries } from "./palette.tsx";

const named = (...labels: string[]) => labels.map((label) => ({ label }));
const found = (labels: string[], text: string) =>
  rankEntries(named(...labels), text, 9).map(({ label }) => label);

test("the start of a name comes before the start of a word, that before its middle, that before spread letters", () => {
  const names = ["b-x-a-ckup", "mybackup", "db-backup", "backup-db"];
  expect(found(names, "backup")).toEqual(["backup-db", "db-backup", "mybackup", "b-x-a-ckup"]);
});

test("letters that are not present in this order find nothing", () => {
  expect(found(["backup"], "pukcab")).toEqual([]);
});

test("slug, tags and id are found too", () => {
  const entries = [{ label: "Nightly", also: "db-nightly prod 5bf66975" }];
  expect(rankEntries(entries, "prod", 9)).toEqual(entries);
});

test("an empty query shows the first entries, and never more than the limit", () => {
  expect(rankEntries(named("a", "b", "c"), " ", 2)).toEqual(named("a", "b"));
  expect(rankEntries(named("aa", "ab", "ac"), "a", 2)).toHaveLength(2);
});
