// Proxy configuration, from the URL that the browser uses.
import { describe, expect, test } from "vitest";
import { endsOf, isLocal, ownLines, PROXIES, proxyLines } from "./welcome.tsx";

describe("ends", () => {
  test("a local URL is where the program listens, and the public name is a placeholder", () => {
    expect(endsOf("http://localhost:8123", 8123)).toEqual({
      name: "overdue.example.com",
      path: "",
      upstream: "127.0.0.1:8123",
    });
  });

  test("any other URL is the public name, with its path", () => {
    expect(endsOf("https://jobs.example.org/overdue/", 8077)).toEqual({
      name: "jobs.example.org",
      path: "/overdue",
      upstream: "127.0.0.1:8077",
    });
  });

  test("an invalid URL gives an example", () => {
    expect(endsOf("nonsense", 8077)).toMatchObject({
      name: "overdue.example.com",
      upstream: "127.0.0.1:8077",
    });
  });
});

test.each(PROXIES)("the configuration for %s names both ends", (proxy) => {
  const lines = proxyLines(proxy, { name: "a.example", path: "/o", upstream: "127.0.0.1:9" });
  expect(lines).toContain("a.example");
  expect(lines).toContain("/o");
  expect(lines).toContain("127.0.0.1:9");
});

test("our own settings have the public URL", () => {
  expect(ownLines({ name: "a.example", path: "/o", upstream: "" })).toContain(
    "OVERDUE_SITE_URL=https://a.example/o\n",
  );
});

test("local means this machine only", () => {
  expect(["localhost", "127.0.0.1", "[::1]"].every(isLocal)).toBe(true);
  expect(isLocal("10.0.0.1")).toBe(false);
});
