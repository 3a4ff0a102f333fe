// Mistakes that people make with their first ping, and what they are told.
import { describe, expect, test } from "vitest";
import { explainMiss, explainStranger } from "./near-miss.ts";

const UUID = "0d4f6d1e-7c0a-4f5e-9d5b-3a1c2b4d6e8f";
const CHECK = { uuid: UUID, slug: "nightly-backup", pingKey: "pk-1234567890", pingPath: "/ping" };
const explain = (target: string, method = "GET") => explainMiss({ method, target }, CHECK);

describe("a request that was meant for the check", () => {
  test.each([
    [`/ping/${UUID.replace("3a1c", "3a1d")}`, "differs from this check's in one character"],
    [`/ping/${UUID.replace("3a1c", "31ac")}`, "in 2 characters"],
    [`/ping/${UUID.slice(0, 20)}`, "cut off after 20 of its 36 characters"],
    [`/ping/${UUID.slice(9)}`, "first 9 characters of the UUID are missing"],
    [`/ping/${UUID.replaceAll("-", "")}`, "hyphens of the UUID are missing"],
    [`/${UUID}`, `has to be "/ping"`],
    [`/pings/${UUID}/start`, 'the path in front of it is "/pings"'],
    [`/ping/${UUID}/done`, '"/done" behind it is no signal'],
    [`/ping/${UUID.toUpperCase()}/done?x=1`, '"/done" behind it is no signal'],
    ["/ping/pk-1234567890", "the slug behind it is missing"],
    ["/ping/pk-1234567890/nightly-bakup", 'no check has the slug "nightly-bakup". It is "nightly-backup".'],
    ["/ping/pk-1234567890/nightly-backup/done", "what follows is no signal"],
  ])("GET %s", (target, expected) => {
    expect(explain(target)).toContain(expected);
  });

  test("a method that nobody takes is named", () => {
    expect(explain(`/ping/${UUID}`, "PUT")).toContain("the method is PUT. Use GET, HEAD, POST");
  });
});

describe("a request that was not", () => {
  test.each([
    "/favicon.ico",
    "/ping/",
    "/ping/7f3f8a52-1111-4222-8333-944445555666",
    "/ping/other-key/nightly-backup",
    "/%E0%A4%A",
    "/",
  ])("%s says nothing about the check", (target) => {
    expect(explain(target)).toBeNull();
  });

  test("whoever runs the installation hears of an unknown check, and not of other paths", () => {
    const stranger = "7f3f8a52-1111-4222-8333-944445555666";
    const heard = (target: string, method = "GET") => explainStranger({ method, target }, "/ping");
    expect(heard(`/ping/${stranger}`)).toContain(stranger);
    expect(heard(`/ping/${stranger}/start?rid=1`)).toContain(stranger);
    expect(heard("/wp-login.php")).toBeNull();
  });

  test("nobody is told that a check is missing when the request failed for another reason", () => {
    const other = "7f3f8a52-1111-4222-8333-944445555666";
    expect(explainStranger({ method: "DELETE", target: `/ping/${other}` }, "/ping")).toBeNull();
    expect(explainStranger({ method: "GET", target: `/ping/${other}/done` }, "/ping")).toBeNull();
    expect(explainStranger({ method: "GET", target: `/checks/${other}/details/` }, "/ping")).toBeNull();
  });
});
