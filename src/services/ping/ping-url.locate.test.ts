// Which requests are pings, for each way to configure the ping URL.
import { describe, expect, test } from "vitest";
import { pingLocator } from "./ping-url.ts";

const UUID = "0f3a4b5c-1111-4222-8333-444455556666";
const SITE = "https://overdue.example.org";

function locator(pingUrl: string | null, siteUrl = SITE, aliases: string[] | null = null) {
  return pingLocator({
    siteUrl: new URL(siteUrl),
    pingUrl: pingUrl === null ? null : new URL(pingUrl),
    pingAliases: aliases?.map((alias) => new URL(alias)) ?? null,
  });
}

describe("with the site alone", () => {
  const locate = locator(null);

  test.each([
    [`/ping/${UUID}`, `/${UUID}`],
    [`/ping/${UUID}/start?rid=x`, `/${UUID}/start?rid=x`],
    ["/ping/", "/"],
    ["/ping//", "//"],
    [`http://anything/ping/${UUID}`, `/${UUID}`],
    [`HTTPS://anything:8443/ping/${UUID}?a`, `/${UUID}?a`],
  ])("%s is a ping on any host", (url, rest) => {
    for (const host of [undefined, "", "overdue.example.org", "127.0.0.1:8000"])
      expect(locate(url, host)).toBe(rest);
  });

  test.each([
    "/ping",
    "/ping?x",
    "/pingx/",
    "/Ping/",
    "/",
    "",
    "*",
    `/${UUID}`,
    `ping/${UUID}`,
    "/api/ping/",
    "ftp://x/ping/",
  ])("%j is not a ping", (url) => {
    expect(locate(url, "overdue.example.org")).toBeNull();
  });
});

describe("with aliases", () => {
  const aliases = ["https://hc-ping.example.net", "https://old.example.net/hooks", SITE];
  const locate = locator("https://ping.example.org", SITE, aliases);

  test("pings are accepted under each of them, as under the ping URL", () => {
    for (const host of ["hc-ping.example.net", "HC-PING.example.net:8443", "ping.example.org"]) {
      expect(locate(`/${UUID}/start?rid=x`, host)).toBe(`/${UUID}/start?rid=x`);
      expect(locate("/key/slug", host)).toBe("/key/slug");
    }
    expect(locate(`/hooks/${UUID}`, "old.example.net")).toBe(`/${UUID}`);
    expect(locate(`https://hc-ping.example.net/${UUID}`, undefined)).toBe(`/${UUID}`);
  });

  test("at the site's own host, only unambiguous paths are pings", () => {
    expect(locate(`/${UUID}`, "overdue.example.org")).toBe(`/${UUID}`);
    expect(locate("/key/slug", "overdue.example.org")).toBeNull();
  });

  test("other hosts and paths are not pings, whatever was requested before", () => {
    for (const host of [
      "other.example.net",
      "hc-ping.example.net.evil.org",
      undefined,
      "other.example.net",
    ]) {
      expect(locate("/key/slug", host)).toBeNull();
    }
    expect(locate("/key/slug", "old.example.net")).toBeNull();
    expect(locate("/key/slug", "hc-ping.example.net")).toBe("/key/slug");
  });
});

describe("with a path in the site's URL", () => {
  const locate = locator(null, "https://example.org/monitor/");

  test("pings are accepted under that path, and without it if a proxy removes it", () => {
    expect(locate(`/monitor/ping/${UUID}`, "example.org")).toBe(`/${UUID}`);
    expect(locate(`/ping/${UUID}`, "example.org")).toBe(`/${UUID}`);
    expect(locate(`/other/ping/${UUID}`, "example.org")).toBeNull();
  });
});

describe("with a separate ping host", () => {
  const locate = locator("https://Ping.example.org");

  test.each([
    "ping.example.org",
    "PING.EXAMPLE.ORG",
    "ping.example.org:443",
    "ping.example.org:8080",
    "ping.example.org.",
  ])("everything at the root of %s is a ping", (host) => {
    expect(locate(`/${UUID}`, host)).toBe(`/${UUID}`);
    expect(locate("/key/slug/start?rid=x", host)).toBe("/key/slug/start?rid=x");
    expect(locate("/", host)).toBe("/");
    // A second time, because the last host is cached.
    expect(locate("/a", host)).toBe("/a");
  });

  test("the usual path works there, too", () => {
    expect(locate(`/ping/${UUID}`, "ping.example.org")).toBe(`/${UUID}`);
  });

  test.each([
    undefined,
    "",
    "overdue.example.org",
    "example.org",
    "xping.example.org",
    "ping.example.org.evil",
    "a b",
    "[",
    ":80",
  ])("the root of the host %j is not a ping", (host) => {
    expect(locate(`/${UUID}`, host)).toBeNull();
  });

  test("the host of an absolute URL wins over the header", () => {
    expect(locate(`http://ping.example.org/${UUID}`, "overdue.example.org")).toBe(`/${UUID}`);
    expect(locate(`http://overdue.example.org/${UUID}`, "ping.example.org")).toBeNull();
  });
});

describe("with other ping URLs", () => {
  test("if only the ports differ, the port distinguishes the hosts", () => {
    const locate = locator("http://localhost:8001", "http://localhost:8000");
    expect(locate(`/${UUID}`, "localhost:8001")).toBe(`/${UUID}`);
    expect(locate(`/${UUID}`, "localhost:8000")).toBeNull();
    expect(locate(`/${UUID}`, "localhost")).toBeNull();
  });

  test("a path on a separate host counts on that host only", () => {
    const locate = locator("https://hooks.example.org/p/");
    expect(locate(`/p/${UUID}`, "hooks.example.org")).toBe(`/${UUID}`);
    expect(locate(`/${UUID}`, "hooks.example.org")).toBeNull();
    expect(locate(`/p/${UUID}`, "overdue.example.org")).toBeNull();
  });

  test("another path on the site counts on any host", () => {
    const locate = locator(`${SITE}/p`);
    expect(locate(`/p/${UUID}`, "10.0.0.1:8000")).toBe(`/${UUID}`);
    expect(locate(`/p`, "10.0.0.1:8000")).toBeNull();
    expect(locate(`/ping/${UUID}`, undefined)).toBe(`/${UUID}`);
  });

  test("the root of the site is shared: only what begins with a UUID is a ping there", () => {
    const locate = locator(SITE);
    for (const end of ["", "/", "/start", "?rid=x"]) {
      expect(locate(`/${UUID}${end}`, "overdue.example.org")).toBe(`/${UUID}${end}`);
    }
    for (const url of ["/", "/projects/", `/${UUID}0`, `/${UUID.toUpperCase()}`, `/b/2/${UUID}.svg`]) {
      expect(locate(url, "overdue.example.org")).toBeNull();
    }
  });

  test("IPv6 hosts are accepted", () => {
    const locate = locator("http://[::1]:8001", "http://[::1]:8000");
    expect(locate(`/${UUID}`, "[::1]:8001")).toBe(`/${UUID}`);
    expect(locate(`/${UUID}`, "[::1]:8000")).toBeNull();
  });
});
