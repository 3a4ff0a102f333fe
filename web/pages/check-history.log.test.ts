// Request parameters for the filters of the log.
import { expect, test } from "vitest";
import { askedFor } from "./check-history.tsx";

test("no filter requests everything", () => {
  expect(askedFor([])).toEqual({});
});

test("kinds of pings are requested as pings of these kinds", () => {
  expect(askedFor(["log", "fail"])).toEqual({ types: "ping", pingKinds: "fail,log" });
});

test("other events are requested without pings", () => {
  expect(askedFor(["event", "flip"])).toEqual({ types: "flip,event" });
  expect(askedFor(["start", "flip"])).toEqual({ types: "ping,flip", pingKinds: "start" });
});
