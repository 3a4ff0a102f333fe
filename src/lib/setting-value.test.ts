// Each kind of value: what it accepts, what it rejects, and that errors do not repeat the text.
import { describe, expect, test } from "vitest";
import {
  addressRangeKind,
  booleanKind,
  calledAddressKind,
  choiceKind,
  databaseUrlKind,
  folderOrOffKind,
  hostKind,
  integerKind,
  listenKind,
  listKind,
  MASK,
  nameKind,
  proxyUrlKind,
  secondsKind,
  textKind,
  tokenKind,
  uuidKind,
  type ValueKind,
  webAddressKind,
  wordKind,
} from "./setting-value.ts";

const TAKEN: [string, ValueKind<unknown>, string, unknown][] = [
  ["text", textKind({ lengthMin: 3 }), "abc", "abc"],
  ["name", nameKind({ lengthMax: 3 }), "a b", "a b"],
  ["token", tokenKind, "123456789:AA_b-c", "123456789:AA_b-c"],
  ["host name", hostKind, "mail", "mail"],
  ["IP address for a host", hostKind, "::1", "::1"],
  ["integer at its lower end", integerKind({ min: 2, max: 9, unit: "things" }), "2", 2],
  ["integer at its upper end", integerKind({ min: 2, max: 9, unit: "things" }), "9", 9],
  ["seconds", secondsKind({ min: 0, max: 60 }), "0", 0],
  ["the reference's True", booleanKind, "True", true],
  ["the reference's False", booleanKind, "False", false],
  ["1", booleanKind, "1", true],
  ["off", booleanKind, "off", false],
  ["choice", choiceKind(["a", "b"]), "b", "b"],
  ["address to be called", calledAddressKind, "https://h/p/?id=7#a", "https://h/p/?id=7#a"],
  ["UUID", uuidKind, "6F1C9A52-8D0B-4F3E-9A57-2C4D6E8F0A1B", "6f1c9a52-8d0b-4f3e-9a57-2c4d6e8f0a1b"],
  ["web address", webAddressKind, "https://Overdue.example.org", "https://overdue.example.org"],
  ["web address with a path", webAddressKind, "http://h:8000/monitor/", "http://h:8000/monitor"],
  [
    "proxy",
    proxyUrlKind,
    "http://me:secret@proxy.example.org:3128",
    "http://me:secret@proxy.example.org:3128/",
  ],
  ["folder", folderOrOffKind, "/var/lib/overdue", "/var/lib/overdue"],
  ["a folder that is off", folderOrOffKind, "OFF", "off"],
  ["listen address", listenKind, "[::1]:0", { host: "::1", port: 0 }],
  ["list", listKind(wordKind, { countMax: 2 }), "ping , api", ["ping", "api"]],
  ["ranges", listKind(addressRangeKind, { countMax: 2 }), "10.0.0.0/8,::1", ["10.0.0.0/8", "::1"]],
  ["database", databaseUrlKind, "postgres://u:p%40@h/d", "postgres://u:p%40@h/d"],
  [
    "database on a Unix socket",
    databaseUrlKind,
    "postgresql://u:p@/d?host=/run",
    "postgresql://u:p@/d?host=/run",
  ],
];

test.each(TAKEN)("%s is accepted", (_name, kind, text, value) => {
  expect(kind.parse(text)).toEqual({ value });
});

const REFUSED: [string, ValueKind<unknown>, string][] = [
  ["a text that is too short", textKind({ lengthMin: 5 }), "zyxw"],
  ["a name that is too long", nameKind({ lengthMax: 3 }), "zyxw"],
  ["a name of two lines", nameKind({ lengthMax: 9 }), "zy\nzyxw"],
  ["a token with a space", tokenKind, "zyxw zyxw zyxw"],
  ["a token that is too short", tokenKind, "zyxw"],
  ["a host with a port", hostKind, "zyxw:587"],
  ["a host with an empty label", hostKind, "zyxw..org"],
  ["a number below the range", integerKind({ min: 2, max: 9, unit: "things" }), "1"],
  ["a number above the range", integerKind({ min: 2, max: 9, unit: "things" }), "10"],
  ["a fraction", integerKind({ min: 2, max: 9, unit: "things" }), "2.5"],
  ["a number with a sign", integerKind({ min: 2, max: 9, unit: "things" }), "+3"],
  ["a number in another notation", integerKind({ min: 2, max: 90_000, unit: "things" }), "1e3"],
  ["a number beyond all sense", integerKind({ min: 2, max: 9, unit: "things" }), "9".repeat(40)],
  ["a word for a boolean", booleanKind, "maybe"],
  ["an unknown choice", choiceKind(["a", "b"]), "zyxw"],
  ["a web address without a scheme", webAddressKind, "zyxw.example.org"],
  ["a web address of another scheme", webAddressKind, "ftp://zyxw.example.org"],
  ["a web address with a query", webAddressKind, "https://h/?zyxw=1"],
  ["a web address with a login", webAddressKind, "https://zyxw:zyxw@h/"],
  ["a proxy of another kind", proxyUrlKind, "socks5://zyxw:1080"],
  ["a proxy with a path", proxyUrlKind, "http://h:3128/zyxw"],
  ["a folder that depends on where the program is started", folderOrOffKind, "./zyxw"],
  ["another word for off", folderOrOffKind, "zyxw"],
  ["a port alone", listenKind, "8000"],
  ["a list with a bad part", listKind(wordKind, { countMax: 9 }), "ping,ZYXW"],
  ["a list that is too long", listKind(wordKind, { countMax: 2 }), "zyxwa,zyxwb,zyxwc"],
  ["a host name for a range", addressRangeKind, "zyxw.local"],
  ["a database of another kind", databaseUrlKind, "mysql://zyxw:zyxw@h/d"],
  ["an address to be called of another scheme", calledAddressKind, "ftp://zyxw/"],
  ["an address to be called with a login", calledAddressKind, "https://zyxw:zyxw@h/"],
  ["a UUID that is none", uuidKind, "zyxw1c9a52-8d0b-4f3e-9a57-2c4d6e8f0a1b"],
  ["a database address without a database", databaseUrlKind, "postgres://zyxw:zyxw@h"],
  ["a database password with a bare %", databaseUrlKind, "postgres://u:zyxw%zz@h/d"],
];

test.each(REFUSED)("%s is rejected, without repeating it", (_name, kind, text) => {
  const parsed = kind.parse(text);
  expect(parsed).toHaveProperty("problem", expect.stringMatching(/^must /));
  expect(JSON.stringify(parsed)).not.toContain("zyxw");
});

describe("printing", () => {
  test.each(TAKEN)("%s can be parsed back", (_name, kind, text) => {
    const parsed = kind.parse(text);
    if (!("value" in parsed)) throw new Error("not taken");
    expect(kind.parse(kind.print(parsed.value))).toEqual(parsed);
  });

  test.each([
    ["postgres://u:hunter2@h:5432/d", `postgres://u:${MASK}@h:5432/d`],
    ["postgres://u@h/d?password=hunter2", `postgres://u@h/d?password=${MASK}`],
    ["postgres://u:hunter2@/d?host=/run", `postgres://u:${MASK}@/d?host=/run`],
    ["postgres://u@h/d", "postgres://u@h/d"],
  ])("the password in %s is masked and the rest is not", (url, shown) => {
    expect(databaseUrlKind.mask?.(url)).toBe(shown);
  });

  test("an address that cannot be parsed is masked completely", () => {
    expect(databaseUrlKind.mask?.("not an address hunter2")).toBe(MASK);
  });
});

test("of a proxy URL everything but the login is shown", () => {
  expect(proxyUrlKind.mask?.("http://me:hunter2@h:3128/")).toBe(`http://${MASK}@h:3128/`);
  expect(proxyUrlKind.mask?.("http://h:3128/")).toBe("http://h:3128/");
});

test("the secrets of a database URL are found as written and decoded", () => {
  expect(databaseUrlKind.secretsIn?.("postgres://u:a%40b@h/d?sslpassword=c")).toEqual(["a%40b", "a@b", "c"]);
  expect(databaseUrlKind.secretsIn?.("postgres://u@h/d")).toEqual([]);
});
