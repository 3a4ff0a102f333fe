// The form of a status page as values: addresses, order, and the request that it sends.
import { expect, test } from "vitest";
import {
  bodyOf,
  type EntryForm,
  formOf,
  missingIn,
  movedEntry,
  movedGroup,
  slugOf,
} from "./status-page-form.tsx";

const entry = (name: string, more: Partial<EntryForm> = {}): EntryForm => ({
  name,
  description: "",
  check: `check of ${name}`,
  tag: null,
  ...more,
});

const GROUPS = [
  { name: "One", entries: [entry("a"), entry("b")] },
  { name: "Two", entries: [entry("c")] },
];

const order = (groups: readonly { entries: readonly EntryForm[] }[]) =>
  groups.map(({ entries }) => entries.map(({ name }) => name).join("")).join("|");

test.each([
  ["Nordlight Shop", "nordlight-shop"],
  ["  Ünïcode & more!  ", "unicode-more"],
  ["日本", ""],
  [`${"a".repeat(59)} b`, "a".repeat(59)],
])("The address of %s", (title, slug) => {
  expect(slugOf(title)).toBe(slug);
});

test("Entries move within their group and on to the next", () => {
  expect(order(movedEntry(GROUPS, { group: 0, entry: 0, step: 1 }))).toBe("ba|c");
  expect(order(movedEntry(GROUPS, { group: 0, entry: 1, step: 1 }))).toBe("a|bc");
  expect(order(movedEntry(GROUPS, { group: 1, entry: 0, step: -1 }))).toBe("abc|");
  expect(order(movedEntry(GROUPS, { group: 0, entry: 1, step: -1 }))).toBe("ba|c");
  expect(order(movedEntry(GROUPS, { group: 5, entry: 1, step: -1 }))).toBe("ab|c");
  expect(order(movedGroup(GROUPS, 1, -1))).toBe("c|ab");
});

test("A new page is complete once it has a title and names", () => {
  const form = formOf(null);
  expect(missingIn(form)).toBe("Enter a title.");
  const titled = { ...form, title: "Nordlight" };
  expect(missingIn(titled)).toBeNull();
  const nameless = { ...titled, groups: [{ name: "", entries: [entry(" ")] }] };
  expect(missingIn(nameless)).toBe("Give every entry a public name.");
});

test("The request leaves out empty groups, deleted checks and a password that is kept", () => {
  const form = {
    ...formOf(null),
    title: " Nordlight ",
    slug: "nordlight",
    domain: " Status.Example.org ",
    groups: [
      { name: "", entries: [] },
      { name: " Shop ", entries: [entry("Checkout"), entry("Gone", { check: null })] },
    ],
  };
  expect(bodyOf(form)).toEqual({
    slug: "nordlight",
    title: "Nordlight",
    description: "",
    brand: { background: null, accent: null, ink: null, button: null },
    password: null,
    domain: "status.example.org",
    groups: [{ name: "Shop", entries: [entry("Checkout")] }],
  });
  expect(bodyOf({ ...form, isProtected: true })).not.toHaveProperty("password");
  expect(bodyOf({ ...form, isProtected: true, password: "secret" })).toMatchObject({ password: "secret" });
});
