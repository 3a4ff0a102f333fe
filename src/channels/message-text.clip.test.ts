// Truncating texts, and removing invisible characters.
import fc from "fast-check";
import { expect, test } from "vitest";
import { clipEnd, clipStart, oneLine, printable } from "./message-text.ts";

test("a text that fits is unchanged", () => {
  expect(clipStart("abc", 3)).toBe("abc");
  expect(clipEnd("abc", 3)).toBe("abc");
});

test("truncating the end keeps the beginning, and vice versa", () => {
  expect(clipStart("abcdef", 4)).toBe("abc…");
  expect(clipEnd("abcdef", 5)).toBe("…\ndef");
});

test("the end begins with a whole line if that costs little", () => {
  const lines = Array.from({ length: 9 }, (_none, number) => `line ${number}`).join("\n");
  expect(clipEnd(`begin\n${lines}`, 62)).toBe(`…\n${lines.slice(7)}`);
  expect(clipEnd(`${"x".repeat(50)}\nlast`, 30)).toBe(`…\n${"x".repeat(23)}\nlast`);
});

test("the result never exceeds the limit, and no character is split", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme", maxLength: 60 }),
      fc.integer({ min: 2, max: 40 }),
      (text, max) => {
        for (const clipped of [clipStart(text, max), clipEnd(text, max)]) {
          expect(clipped.length).toBeLessThanOrEqual(max);
          expect(clipped.isWellFormed()).toBe(true);
        }
      },
    ),
  );
});

test("colors, bells and unpaired surrogates are removed; line breaks and tabs stay", () => {
  expect(printable("\u001b[1;31mred\u001b[0m\u0007 [x]\r\na\tb\rc\u0000\ud800")).toBe(
    "red [x]\na\tb\nc\ufffd",
  );
  const [esc, bell] = ["\u001b", "\u0007"];
  const written = `${esc}]0;title${bell}a ${esc}]8;;https://x${esc}\\link${esc}]8;;${esc}\\ ${esc}(Bb${esc}7c ${esc}[3`;
  expect(printable(written)).toBe("a link bc ");
  expect(printable(`never ${esc}]ended\nnext`)).toBe("never ]ended\nnext");
  expect(oneLine("  a\u00a0b\r\n\tc ")).toBe("a b c");
});
