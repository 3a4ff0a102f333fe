// Which requests are for the API, by path and host.
import { describe, expect, test } from "vitest";
import { apiLocator } from "./server.ts";

const SITE = new URL("https://overdue.example.org");

describe("on the site", () => {
  const locate = apiLocator({ siteUrl: SITE, apiUrl: null });

  test.each([
    ["/api/v3/checks/", "/v3/checks/"],
    ["/api/v1/checks/?tag=a", "/v1/checks/?tag=a"],
    ["/api/nope", "/nope"],
    ["/api/", "/"],
    ["/api", "/"],
    ["/api?x=1", "/?x=1"],
    ["http://whoever/api/v3/status/", "/v3/status/"],
  ])("%s belongs to the API", (url, path) => {
    expect(locate(url, "overdue.example.org")).toBe(path);
    expect(locate(url, undefined)).toBe(path);
  });

  test.each(["/", "/apis/v3/", "/ping/x", "/v3/checks/", "/x/api/v3/", "*", ""])("%s is not", (url) => {
    expect(locate(url, "overdue.example.org")).toBeNull();
  });
});

test("a path in the site's address is honoured, whether or not a proxy removes it", () => {
  const locate = apiLocator({ siteUrl: new URL("https://example.org/cron/"), apiUrl: null });
  expect(locate("/cron/api/v3/checks/", "example.org")).toBe("/v3/checks/");
  expect(locate("/api/v3/checks/", "example.org")).toBe("/v3/checks/");
});

describe("with a separate host", () => {
  const locate = apiLocator({ siteUrl: SITE, apiUrl: new URL("https://api.example.org") });

  test.each([
    ["/v3/checks/", "/v3/checks/"],
    ["/v3", "/v3"],
    ["/api/v1/checks/", "/v1/checks/"],
    ["/v1/checks/", "/"],
    ["/v33/checks/", "/"],
    ["/anything", "/"],
  ])("%s there belongs to the API", (url, path) => {
    expect(locate(url, "api.example.org")).toBe(path);
    expect(locate(url, "api.example.org:8443")).toBe(path);
  });

  test("other paths on the site do not belong to the API", () => {
    expect(locate("/v3/checks/", "overdue.example.org")).toBeNull();
    expect(locate("/api/v3/checks/", "overdue.example.org")).toBe("/v3/checks/");
  });
});

test("below a path of the site only version 3 is accepted", () => {
  const locate = apiLocator({ siteUrl: SITE, apiUrl: new URL("https://overdue.example.org/rest/") });
  expect(locate("/rest/v3/checks/", "overdue.example.org")).toBe("/v3/checks/");
  expect(locate("/rest/v1/checks/", "overdue.example.org")).toBeNull();
  expect(locate("/v3/checks/", "overdue.example.org")).toBeNull();
});
