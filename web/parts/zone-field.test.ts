// Which time zones a search finds.
import { expect, test } from "vitest";
import type { Zones } from "../../src/contract/api/history.ts";
import { searchZones, spelledZone } from "./zone-field.tsx";

const ZONES: Zones = {
  zones: [
    { name: "America/New_York", aliases: ["US/Eastern"] },
    { name: "Asia/Kolkata", aliases: ["Asia/Calcutta"] },
    { name: "Europe/Berlin", aliases: [] },
    { name: "Europe/Kyiv", aliases: ["Europe/Kiev"] },
    { name: "UTC", aliases: ["Zulu"] },
  ],
  others: ["EST", "Etc/GMT+5"],
};
const OFFSETS: Record<string, string> = { "America/New_York": "-05:00", "Asia/Kolkata": "+05:30" };
const ABBREVIATIONS: Record<string, string[]> = {
  "America/New_York": ["EST"],
  "Europe/Berlin": ["GMT+1", "CET"],
};
const clocks = {
  offsetOf: (name: string) => OFFSETS[name] ?? null,
  abbreviationsOf: (name: string) => ABBREVIATIONS[name] ?? [],
};
const found = (text: string) => searchZones(ZONES, { text, ...clocks }).map(({ name }) => name);

test.each([
  ["berlin", ["Europe/Berlin"]],
  ["new york", ["America/New_York"]],
  ["new_y", ["America/New_York"]],
  ["calcutta", ["Asia/Kolkata"]],
  ["Europe/Kiev", ["Europe/Kyiv"]],
  ["europe", ["Europe/Berlin", "Europe/Kyiv"]],
  ["cet", ["Europe/Berlin"]],
  ["est", ["EST", "America/New_York"]],
  ["+5:30", ["Asia/Kolkata"]],
  ["utc-5", ["America/New_York"]],
  ["etc/gmt+5", ["Etc/GMT+5"]],
  ["atlantis", []],
])("%s", (text, names) => {
  expect(found(text)).toEqual(names);
});

test("an empty search offers all current names, and no old one", () => {
  expect(found("")).toEqual(ZONES.zones.map(({ name }) => name));
});

test("an old name is shown beside the current one, and is kept as it is spelled", () => {
  expect(searchZones(ZONES, { text: "kiev", ...clocks })).toEqual([
    { name: "Europe/Kyiv", formerly: "Europe/Kiev" },
  ]);
  expect(spelledZone(ZONES, "europe/kiev")).toBe("Europe/Kiev");
  expect(spelledZone(ZONES, "america/new york")).toBe("America/New_York");
  expect(spelledZone(ZONES, "berlin")).toBeNull();
});
