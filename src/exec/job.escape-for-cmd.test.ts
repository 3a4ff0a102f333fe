import { expect, test } from "vitest";
import { escapeForCmd } from "./job.ts";

test.each([
  ["plain", '^"plain^"'],
  ["a b", '^"a^ b^"'],
  ['say "hi"', '^"say^ \\^"hi\\^"^"'],
  ["100%&calc", '^"100^%^&calc^"'],
  ["dir\\", '^"dir\\\\^"'],
])("%s for cmd.exe", (argument, escaped) => {
  expect(escapeForCmd(argument)).toBe(escaped);
});
