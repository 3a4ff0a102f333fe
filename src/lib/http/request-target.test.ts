// Which part of a request's URL is the path below the site.
import { expect, test } from "vitest";
import { sitePath } from "./request-target.ts";

const root = sitePath(new URL("https://example.org"));
const deep = sitePath(new URL("https://example.org/a/site/"));

test.each([
  ["/b/x.svg?y=/z", "/b/x.svg"],
  ["/b/x%2Fy#z?", "/b/x%2Fy"],
  ["http://other.example/b/x", "/b/x"],
  ["*", ""],
  ["", ""],
])("the path of %j below a site is %j", (url, path) => {
  expect([root(url), deep(url)]).toEqual([path, path]);
});

test("the site's own path is optional", () => {
  expect(deep("/a/site/b/x?y")).toBe("/b/x");
  expect(deep("/a/sites/b/x")).toBe("/a/sites/b/x");
  expect(root("/a/site/b/x")).toBe("/a/site/b/x");
});
