// Which requests count as same-origin, and the error for the others.
import { describe, expect, test } from "vitest";
import { originProblem } from "./same-origin.ts";

const SITE = new URL("https://overdue.example.org/app");
const NOTHING = {
  origin: undefined,
  host: undefined,
  "x-forwarded-host": undefined,
  "sec-fetch-site": undefined,
};
const judge = (given: Partial<typeof NOTHING> | Record<string, string>) =>
  originProblem({ ...NOTHING, ...given }, SITE);

describe("a request that changes something is same-origin", () => {
  test.each([
    [{ "sec-fetch-site": "same-origin" }],
    [{ "sec-fetch-site": "same-origin", origin: "http://10.0.0.1:8000" }],
    [{ origin: "https://overdue.example.org" }],
    [{ "sec-fetch-site": "none", origin: "https://overdue.example.org" }],
    [{ origin: "http://10.0.0.1:8000", host: "10.0.0.1:8000" }],
    [{ origin: "https://tunnel.example", host: "127.0.0.1:8000", "x-forwarded-host": "tunnel.example" }],
  ])("with %j", (given) => {
    expect(judge(given)).toBeNull();
  });

  test.each([
    [{}],
    [{ origin: "null" }],
    [{ "sec-fetch-site": "cross-site" }],
    [{ "sec-fetch-site": "same-site", origin: "https://overdue.example.org" }],
    [{ origin: "https://evil.example", host: "overdue.example.org" }],
    [{ origin: "https://overdue.example.org.evil.example", host: "overdue.example.org" }],
    [{ origin: "not a url", host: "not a url" }],
  ])("not with %j", (given) => {
    expect(judge(given)).toMatch(/\.$/);
  });
});
