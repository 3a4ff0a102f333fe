// Browsers that are known again: what is taken for one, and whom tries are counted by.
import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { DAY_MS } from "../instant.ts";
import { type Counted, deviceToken, linkTries, passwordTries, readDevice } from "./device-rules.ts";

const NOW = Date.UTC(2026, 10, 16, 12);
const ID = "a-browser-that-was-here";
const signing = {
  sign: (message: string) => createHmac("sha256", "secret").update(message).digest("hex"),
  isSame: Object.is,
};
const token = deviceToken(signing, { accountId: 7, id: ID, at: NOW });
const read = (given: string, { accountId = 7, now = NOW, knownFromAt = null as number | null } = {}) =>
  readDevice(given, { signing, accountId, knownFromAt, now });

describe("A browser", () => {
  test.each([
    ["on the same day", read(token), ID],
    ["after 179 days", read(token, { now: NOW + 179 * DAY_MS }), ID],
    ["after 180 days", read(token, { now: NOW + 180 * DAY_MS }), null],
    ["from the day after tomorrow", read(token, { now: NOW - 2 * DAY_MS }), null],
    ["from before the others were made strangers", read(token, { knownFromAt: NOW + 1 }), null],
    ["from the very moment", read(token, { knownFromAt: NOW }), ID],
    ["from after it", read(token, { knownFromAt: NOW - 1 }), ID],
    ["of another account", read(token, { accountId: 8 }), null],
    ["of nobody", read(token, { accountId: 0 }), null],
    ["with another id", read(token.replace(ID, `${ID}x`)), null],
    ["with a later date", read(token.replace(/\.\d+\./, (all) => `.${Number(all.slice(1, -1)) + 1}.`)), null],
    ["with nothing", read(""), null],
    ["with no signature", read(`${ID}.${NOW}.`), null],
    ["with a line break in it", read(`${token}\n`), null],
  ])("%s", (_, found, expected) => {
    expect(found).toBe(expected);
  });
});

describe("Tries are counted", () => {
  const stranger = { email: "a.lice+x@example.org", network: "192.0.2.1", deviceId: null };
  const lines = (tries: readonly Counted[]) => tries.map(({ kind, subject }) => `${kind} ${subject}`);

  test.each([
    [
      "of a password by strangers: for the network, the address from there, and the address",
      passwordTries(stranger),
      [
        "passwordByNetwork 192.0.2.1",
        "passwordByAddressThere alice@example.org\n192.0.2.1",
        "passwordByAddress alice@example.org",
      ],
    ],
    [
      "of a password by a known browser: for itself, and all of the account's",
      passwordTries({ ...stranger, deviceId: ID }),
      [`passwordByDevice ${ID}`, "passwordByDevices a.lice+x@example.org"],
    ],
    [
      "of a link by strangers: for the network and the address",
      linkTries(stranger),
      ["linkByNetwork 192.0.2.1", "linkByAddress alice@example.org"],
    ],
    [
      "of a link by a known browser: for itself, and all of the account's",
      linkTries({ ...stranger, deviceId: ID }),
      [`linkByDevice ${ID}`, "linkByDevices a.lice+x@example.org"],
    ],
  ])("%s", (_, tries, expected) => {
    expect(lines(tries)).toEqual(expected);
  });
});
