// Parsing and serializing cookies.
import { describe, expect, test } from "vitest";
import { readCookies } from "../../lib/http/cookies.ts";
import { guardedName, sessionCookieName, setCookie } from "./session.ts";

describe("cookies", () => {
  test("the first of each name counts, and invalid pairs are ignored", () => {
    expect({ ...readCookies("a=1; b=x=y; a=2; nonsense; =z") }).toEqual({ a: "1", b: "x=y" });
    expect({ ...readCookies(undefined) }).toEqual({});
  });

  test("names of object properties are ordinary names", () => {
    expect(Object.entries(readCookies("toString=1; __proto__=2"))).toEqual([
      ["toString", "1"],
      ["__proto__", "2"],
    ]);
  });

  test("the prefix is used if browsers enforce it", () => {
    expect(sessionCookieName(new URL("https://a.example/"))).toBe("__Host-overdue_session");
    expect(guardedName("overdue_step", new URL("https://a.example/"))).toBe("__Host-overdue_step");
    expect(sessionCookieName(new URL("https://a.example/app"))).toBe("overdue_session");
    expect(sessionCookieName(new URL("http://127.0.0.1:8000/"))).toBe("overdue_session");
  });

  test("scripts cannot read the cookie, and with https it is only sent over https", () => {
    const cookie = { name: "s", value: "v", maxAgeSeconds: 60 };
    expect(setCookie(cookie, new URL("https://a.example/app/"))).toBe(
      "s=v; Path=/app; HttpOnly; SameSite=Lax; Secure; Max-Age=60",
    );
    expect(setCookie({ name: "s", value: "v" }, new URL("http://a.example/"))).toBe(
      "s=v; Path=/; HttpOnly; SameSite=Lax",
    );
  });
});
