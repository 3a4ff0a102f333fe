// Mistakes in the first ping, and their explanations.
import { describe, expect, test } from "vitest";
import { explainMiss, explainUnmatched } from "./check-setup.ts";

const UUID = "0d4f6d1e-7c0a-4f5e-9d5b-3a1c2b4d6e8f";
const CHECK = { uuid: UUID, slug: "nightly-backup", pingKey: "pk-1234567890", pingPath: "/ping" };
const explain = (target: string, method = "GET") => explainMiss({ method, target }, CHECK);

describe("a request that was meant for the check", () => {
  test.each([
    [
      `/ping/${UUID.replace("3a1c", "3a1d")}`,
      "The UUID differs from this check's UUID by one character. Copy the command again.",
    ],
    [
      `/ping/${UUID.replace("3a1c", "31ac")}`,
      "The UUID differs from this check's UUID by 2 characters. Copy the command again.",
    ],
    [`/ping/${UUID.slice(0, 20)}`, "The UUID is incomplete: only 20 of 36 characters."],
    [`/ping/${UUID.slice(9)}`, "first 9 characters of the UUID are missing"],
    [`/ping/${UUID.replaceAll("-", "")}`, "The hyphens in the UUID are missing or misplaced."],
    [
      `/${UUID}`,
      `The UUID is correct, but the path before it is "/" instead of "/ping". Use /ping/0d4f6d1e-7c0a-4f5e-9d5b-3a1c2b4d6e8f`,
    ],
    [
      `/pings/${UUID}/start`,
      'The UUID is correct, but the path before it is "/pings" instead of "/ping". Use /ping/0d4f6d1e-7c0a-4f5e-9d5b-3a1c2b4d6e8f',
    ],
    [
      `/ping/${UUID}/done`,
      'The UUID is correct, but "/done" after it is not valid. Use start, fail, log or an exit code from 0 to 255, or nothing.',
    ],
    [
      `/ping/${UUID.toUpperCase()}/done?x=1`,
      'The UUID is correct, but "/done" after it is not valid. Use start, fail, log or an exit code from 0 to 255, or nothing.',
    ],
    [
      "/ping/pk-1234567890",
      'The ping key is correct, but the slug after it is missing. The slug is "nightly-backup".',
    ],
    [
      "/ping/pk-1234567890/nightly-bakup",
      'The ping key is correct, but no check has the slug "nightly-bakup". The slug is "nightly-backup". To create a check with the slug you sent, add ?create=1.',
    ],
    [
      "/ping/pk-1234567890/nightly-backup/done",
      "The ping key and slug are correct, but the rest of the URL is not valid. Use start, fail, log or an exit code from 0 to 255, or nothing.",
    ],
  ])("GET %s", (target, expected) => {
    expect(explain(target)).toContain(expected);
  });

  test("an unsupported method is named", () => {
    expect(explain(`/ping/${UUID}`, "PUT")).toContain("the method is PUT. Use GET, HEAD, POST");
  });
});

describe("a request that was not meant for the check", () => {
  test.each([
    "/favicon.ico",
    "/ping/",
    "/ping/7f3f8a52-1111-4222-8333-944445555666",
    "/ping/other-key/nightly-backup",
    "/%E0%A4%A",
    "/",
  ])("%s has no explanation", (target) => {
    expect(explain(target)).toBeNull();
  });

  test("an unknown check is explained to an admin, and other paths are not", () => {
    const stranger = "7f3f8a52-1111-4222-8333-944445555666";
    const heard = (target: string, method = "GET") => explainUnmatched({ method, target }, "/ping");
    expect(heard(`/ping/${stranger}`)).toContain(stranger);
    expect(heard(`/ping/${stranger}/start?rid=1`)).toContain(stranger);
    expect(heard("/wp-login.php")).toBeNull();
  });

  test("a missing check is not reported if the request failed for another reason", () => {
    const other = "7f3f8a52-1111-4222-8333-944445555666";
    expect(explainUnmatched({ method: "DELETE", target: `/ping/${other}` }, "/ping")).toBeNull();
    expect(explainUnmatched({ method: "GET", target: `/ping/${other}/done` }, "/ping")).toBeNull();
    expect(explainUnmatched({ method: "GET", target: `/checks/${other}/details/` }, "/ping")).toBeNull();
  });
});
