// From the URL to the request parameters.
import { expect, test } from "vitest";
import { askedOf, choiceQuery, EVERYTHING, readChoice } from "./events.tsx";

test("filters are the same after they were written to the URL", () => {
  const choice = {
    show: "flip",
    text: "back up",
    from: "2026-11-01T00:00",
    to: "2026-11-15T03:00",
    zone: "check",
  } as const;
  expect(readChoice(new URLSearchParams(choiceQuery(choice)))).toEqual(choice);
  expect(choiceQuery(EVERYTHING)).toEqual({});
});

test("invalid values in the URL are ignored", () => {
  expect(readChoice(new URLSearchParams("show=me&from=yesterday&zone=moon"))).toEqual(EVERYTHING);
  // The server would reject it.
  expect(readChoice(new URLSearchParams("from=2026-13-01T00:00&to=2026-11-15T24:00"))).toEqual(EVERYTHING);
});

test("a range is read in the time zone that times are shown in, and without a range no zone is sent", () => {
  const zone = "Europe/Riga";
  expect(askedOf(EVERYTHING, zone)).toEqual({});
  const cut = { ...EVERYTHING, from: "2026-11-01T00:00" };
  expect(askedOf(cut, zone).zone).toBe(zone);
  expect(askedOf({ ...cut, zone: "utc" }, zone).zone).toBe("UTC");
  expect(askedOf({ ...cut, zone: "check" }, zone).zone).toBe(zone);
});
