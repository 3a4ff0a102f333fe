// How the server is asked for some kinds of lines of the log.
import { expect, test } from "vitest";
import { askedFor } from "./check-history.tsx";

test("nothing chosen asks for everything", () => {
  expect(askedFor([])).toEqual({ types: null, signals: null });
});

test("kinds of signals are asked for as signals of these kinds, and nothing besides them", () => {
  expect(askedFor(["log", "fail"])).toEqual({ types: "signal", signals: "fail,log" });
});

test("what is no signal is asked for without any", () => {
  expect(askedFor(["event", "flip"])).toEqual({ types: "flip,event", signals: null });
  expect(askedFor(["start", "flip"])).toEqual({ types: "signal,flip", signals: "start" });
});
