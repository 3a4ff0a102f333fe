// Which parts of a text become links. Only http and https URLs do.
import { expect, test } from "vitest";
import { textParts } from "./check.tsx";

const linksIn = (text: string) => textParts(text).flatMap(({ url }) => url ?? []);

test.each([
  ["see https://wiki.example.org/backup.", ["https://wiki.example.org/backup"]],
  ["(https://example.org/a_(b))", ["https://example.org/a_(b)"]],
  [
    "<https://example.org/?a=1&b=2#c>, HTTP://EXAMPLE.ORG/x!",
    ["https://example.org/?a=1&b=2#c", "HTTP://EXAMPLE.ORG/x"],
  ],
  ["http://127.0.0.1:8080/path\nhttps://example.org", ["http://127.0.0.1:8080/path", "https://example.org"]],
])("%j has the links %j", (text, links) => {
  expect(linksIn(text)).toEqual(links);
});

test.each([
  "javascript:alert(1)",
  "data:text/html,<script>alert(1)</script>",
  "ftp://example.org/x",
  "https://",
  "http://[",
  "xhttps://example.org",
  "nothing here",
])("%j has no link", (text) => {
  expect(linksIn(text)).toEqual([]);
});

test("a link contains no markup and no quote", () => {
  expect(linksIn(`https://example.org/"onclick="alert(1) https://example.org/<img>`)).toEqual([
    "https://example.org/",
    "https://example.org/",
  ]);
});

test("all parts joined together are the text, and hostile texts are parsed quickly", () => {
  for (const unit of [
    "https://",
    "https://a.b ",
    "https://a.b)))",
    "(https://a.b/",
    "http://a.b/((((",
    "h",
  ]) {
    const text = `https://a.b/${unit.repeat(Math.floor(65_536 / unit.length))}`;
    const startedMs = performance.now();
    const parts = textParts(text);
    expect(performance.now() - startedMs).toBeLessThan(2_000);
    expect(parts.map((part) => part.text).join("") === text).toBe(true);
    expect(parts.filter(({ url }) => url !== null).length).toBeLessThanOrEqual(100);
  }
});
