import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type CellView,
  type Cells,
  idInApi,
  idInPage,
  idInPing,
  otherCellOf,
  parseCells,
  type RequestId,
} from "./cells.ts";

const A = { name: "a", urls: ["http://10.0.0.1:8000"], slots: ["000-7ff"] };
const B = { name: "b", urls: ["https://b.example.org"], hosts: ["b.example.org"], slots: ["800-fff"] };

function cellsOf(given: unknown): Cells {
  const parsed = parseCells(JSON.stringify(given));
  if ("problem" in parsed) throw new Error(parsed.problem);
  return parsed.value;
}

function problemOf(given: unknown): string {
  const parsed = parseCells(typeof given === "string" ? given : JSON.stringify(given));
  return "problem" in parsed ? parsed.problem : "none";
}

function viewOf(name: string): CellView {
  const cells = cellsOf([A, B]);
  const cell = cells.list.find((one) => one.name === name);
  if (cell === undefined) throw new Error(`no cell ${name}`);
  return { cell, cells };
}

describe("the description", () => {
  test("gives each slot one cell", () => {
    const { list, bySlot } = cellsOf([A, { ...B, slots: ["800", "801-fff"] }]);
    expect(list.map(({ name, hosts, urls }) => [name, hosts, urls])).toEqual([
      ["a", [], ["http://10.0.0.1:8000"]],
      ["b", ["b.example.org"], ["https://b.example.org"]],
    ]);
    expect(bySlot.size).toBe(4_096);
    expect(["000", "7ff", "800", "fff"].map((slot) => bySlot.get(slot)?.name)).toEqual(["a", "a", "b", "b"]);
  });

  test.each<[unknown, string]>([
    ["{", "is not valid JSON. Correct its syntax"],
    [{}, "must be a list of 1 to 4096 cells"],
    [[], "must be a list of 1 to 4096 cells"],
    [[null], "must have an object with name, urls and slots for cell 1"],
    [[A, { ...B, url: "x" }], 'has the unknown field "url" in cell 2. Remove it'],
    [[{ ...A, name: "A b" }], "must have a name of 1 to 32 lowercase letters, digits and hyphens for cell 1"],
    [[A, { ...B, name: "a" }], 'has the name "a" twice. Remove one of them'],
    [[A, { ...B, urls: A.urls }], 'has the URL "http://10.0.0.1:8000" twice. Remove one of them'],
    [[{ ...A, hosts: B.hosts }, B], 'has the host "b.example.org" twice. Remove one of them'],
    ...[[], "http://x", ["ftp://x"], ["http://x/path"], ["http://me:pw@x"], [1]].map(
      (urls): [unknown, string] => [
        [{ ...A, urls }],
        'must have "urls" of cell "a" as a list of URLs such as "http://10.0.0.1:8000"',
      ],
    ),
    ...["x", ["X y"], [1], ["x\n    bind"]].map((hosts): [unknown, string] => [
      [{ ...A, hosts }],
      'must have "hosts" of cell "a" as a list of host names such as "a.example.org"',
    ]),
    [
      [{ ...A, slots: ["0-7ff"] }],
      'must have "slots" of cell "a" as ranges of three hexadecimal digits such as "000-7ff", not "0-7ff"',
    ],
    [
      [{ ...A, slots: ["7ff-000"] }],
      'must have "slots" of cell "a" as ranges of three hexadecimal digits such as "000-7ff", not "7ff-000"',
    ],
    [[{ ...A, slots: [] }], 'must have "slots" of cell "a" as a list such as ["000-7ff"]'],
    [[A], "does not assign slot 800 to a cell. Assign all slots from 000 to fff"],
    [[A, { ...B, slots: ["7ff-fff"] }], 'assigns slot 7ff to "a" and to "b". Assign each slot to one cell'],
  ])("%j is refused", (given, problem) => {
    expect(problemOf(given)).toBe(problem);
  });

  test("any text is either described or refused", () => {
    fc.assert(fc.property(fc.jsonValue(), (given) => typeof problemOf(given) === "string"));
  });

  test("any division of the slots gives each of them to its cell", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 4_095 }), { maxLength: 20 }), (cuts) => {
        const starts = [0, ...cuts.toSorted((one, other) => one - other)];
        const hex = (slot: number) => slot.toString(16).padStart(3, "0");
        const described = starts.map((start, at) => ({
          name: `c${at}`,
          urls: [`http://10.0.0.1:${1_000 + at}`],
          slots: [`${hex(start)}-${hex((starts[at + 1] ?? 4_096) - 1)}`],
        }));
        const { list, bySlot } = cellsOf(described);
        expect(bySlot.size).toBe(4_096);
        for (const cell of list) for (const slot of cell.slots) expect(bySlot.get(slot)).toBe(cell);
      }),
      { numRuns: 50 },
    );
  });
});

test("an id belongs to another cell if that has its slot", () => {
  const ids = ["7ff12345-", "8001", "odw_7ffx", "odr_800x", "zzz", ""];
  const others = (name: string) => ids.map((id) => otherCellOf(viewOf(name), id)?.name ?? null);
  expect(others("a")).toEqual([null, "b", null, "b", null, null]);
  expect(others("b")).toEqual(["a", null, "a", null, null, null]);
});

const UUID = "31365bce-8da9-4729-8ff3-aaa71d56b712";
const PING_KEY = "9abcdefghijklmnopqrstu";
const API_KEY = `odw_${"9".repeat(28)}`;
const CHECK: RequestId = { by: "check", id: UUID };
const KEY: RequestId = { by: "key", id: PING_KEY };
const BY_API_KEY: RequestId = { by: "apiKey", id: API_KEY };

describe("the id of a request", () => {
  test.each<[string, RequestId | null]>([
    [`/${UUID}`, CHECK],
    [`/${UUID}/start?rid=1`, CHECK],
    [`/${UUID}?create=1`, CHECK],
    [`/${UUID.replaceAll("-", "%2D")}/0`, CHECK],
    [`/${PING_KEY}/backup`, KEY],
    [`/${PING_KEY}%2Fbackup`, KEY],
    // An alias of a malformed URL stays in its cell.
    [`/${UUID.toUpperCase()}`, null],
    [`/${UUID}x`, null],
    ["/backup", null],
    ["/%", null],
    ["/", null],
    ["", null],
  ])("ping %s", (rest, id) => {
    expect(idInPing(rest, { method: "GET" })).toEqual(id);
    expect(idInPing(rest, { method: "OPTIONS" })).toBeNull();
  });

  test.each<[string, Parameters<typeof idInApi>[1], RequestId | null]>([
    ["/v3/checks/", { apiKey: API_KEY, isPersonal: false }, BY_API_KEY],
    [`/v1/checks/${UUID}`, { apiKey: API_KEY, isPersonal: true }, BY_API_KEY],
    ["/overdue/v1/whoami", { apiKey: API_KEY, isPersonal: false }, BY_API_KEY],
    ["/v3/checks/", { apiKey: "short", isPersonal: false }, null],
    ["/v3/checks/", { apiKey: API_KEY, isPersonal: false, method: "OPTIONS" }, null],
    [`/v1/checks/${UUID}`, { apiKey: undefined, isPersonal: false }, CHECK],
    [`/v2/checks/${UUID}/pause`, { apiKey: undefined, isPersonal: false }, CHECK],
    [`/overdue/v1/checks/${UUID}?x`, { apiKey: undefined, isPersonal: false }, CHECK],
    [`/overdue/v1/checks/${UUID}`, { apiKey: undefined, isPersonal: true }, null],
    [`/v4/checks/${UUID}`, { apiKey: undefined, isPersonal: false }, null],
    ["/v3/checks/", { apiKey: undefined, isPersonal: false }, null],
    ["/v3/status/", { apiKey: undefined, isPersonal: false }, null],
  ])("API %s %j", (path, given, id) => {
    expect(idInApi(path, given)).toEqual(id);
  });

  test.each<[string, string | undefined, RequestId | null]>([
    [`/b/2/${UUID}.svg`, undefined, CHECK],
    [`/b/3/${UUID}.shields`, undefined, CHECK],
    [`/b/3/${UUID}`, undefined, null],
    [`/badge/${PING_KEY}/LOegDs5M-2/backup.svg`, undefined, KEY],
    [`/badge/${PING_KEY}/LOegDs5M-2.svg`, undefined, KEY],
    [`/projects/${UUID}/metrics/${API_KEY}`, undefined, BY_API_KEY],
    [`/projects/${UUID}/metrics`, API_KEY, BY_API_KEY],
    [`/projects/${UUID}/metrics`, undefined, null],
    [`/checks/metrics/${API_KEY}`, undefined, BY_API_KEY],
    [`/projects/${UUID}/checks/`, API_KEY, null],
    ["/", API_KEY, null],
  ])("page %s", (path, apiKey, id) => {
    expect(idInPage(path, { apiKey })).toEqual(id);
  });

  test("no path makes it fail", () => {
    fc.assert(
      fc.property(fc.string(), (path) => {
        idInPing(path, {});
        idInApi(path, { apiKey: undefined, isPersonal: false });
        idInPage(path, { apiKey: undefined });
      }),
    );
  });
});
