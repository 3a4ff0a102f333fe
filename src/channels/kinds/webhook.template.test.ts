// Placeholders: one pass, first match, and the characters allowed in URLs and headers.
import { describe, expect, test } from "vitest";
import type { FlipMessage } from "../../core/message.ts";
import { exampleMessage } from "../sender.ts";
import {
  asciiJson,
  fill,
  fillAddress,
  fillHeader,
  placeholderValues,
  TooMuchError,
  type Values,
} from "./webhook.ts";

const AT = Date.UTC(2026, 10, 15, 4, 0, 7) + 890;
const UUID = "31365bce-8da9-4729-8ff3-aaa71d56b712";

function message(settings: { name?: string; tags?: string }, ping: object = {}): FlipMessage {
  const channel = { uuid: UUID, kind: "webhook", name: "" };
  const example = exampleMessage(
    { kind: "test", at: AT, projectName: "", channel },
    { uuid: UUID, direction: "down" },
  );
  const { check, lastPing } = example;
  if (lastPing === null) throw new Error("the example has a ping");
  return {
    ...example,
    check: { ...check, settings: { ...check.settings, ...settings } },
    lastPing: { ...lastPing, ...ping },
  };
}

function values(settings: { name?: string; tags?: string }, { isBody = true, ping = {} } = {}): Values {
  return placeholderValues(message(settings, ping), { checkJson: () => ({ name: "ā" }), isBody });
}

describe("a template", () => {
  const named = values(
    { name: 'The "ā" Time', tags: "foo bar/baz" },
    { ping: { body: "héllo\n", exitStatus: 3 } },
  );

  test.each([
    ["$CODE", UUID],
    ["$STATUS", "down"],
    ["$NOW", "2026-11-15T04:00:07+00:00"],
    ["$NAME", 'The "ā" Time'],
    ["$NAME_JSON", '"The \\"\\u0101\\" Time"'],
    ["$SLUG", "test"],
    ["$TAGS", "foo bar/baz"],
    ["$TAG1+$TAG2+$TAG3", "foo+bar/baz+$TAG3"],
    ["$JSON", '{"name":"\\u0101"}'],
    ["$EXITSTATUS", "3"],
    ["<$ACK_URL>", "<>"],
    ["$BODY", "héllo\n"],
    ["$BODY_JSON", '"h\\u00e9llo\\n"'],
    ["$NAMESAKE", 'The "ā" TimeSAKE'],
    ["$TAG10", "foo0"],
    ["$$NAMETAG1", '$The "ā" TimeTAG1'],
    ["$UNKNOWN $ $$ costs 5$", "$UNKNOWN $ $$ costs 5$"],
    ["no placeholder", "no placeholder"],
    ["", ""],
  ])("%s becomes %s", (template, filled) => {
    expect(fill(template, named)).toBe(filled);
  });

  test("placeholders in values are not replaced", () => {
    const tricky = values({ name: "$TAG1 $NAME $BODY", tags: "$NAME $CODE" });
    expect(fill("$NAME|$TAG1|$TAGS", tricky)).toBe("$TAG1 $NAME $BODY|$NAME|$NAME $CODE");
  });

  test("without tags $TAG1 stays, and without an exit status it is -1", () => {
    expect(fill("$TAG1 $TAGS. $EXITSTATUS", values({}))).toBe("$TAG1 . -1");
  });

  test("the last output is only available in a body", () => {
    const outside = values({}, { isBody: false, ping: { body: "secret" } });
    expect(fill("$BODY $BODY_JSON $STATUS", outside)).toBe("$BODY $BODY_JSON down");
  });
});

test("in a URL values are percent-encoded, except for slashes, and the template is not", () => {
  const named = values({ name: "a b/ü?&#'()*!~", tags: "" });
  expect(fillAddress("https://h/x y?$NAME&at=$NOW", named)).toBe(
    "https://h/x y?a%20b/%C3%BC%3F%26%23%27%28%29%2A%21~&at=2026-11-15T04%3A00%3A07%2B00%3A00",
  );
  expect(fillAddress("https://h/$NAME", values({ name: "half \ud800" }))).toBe("https://h/half%20%EF%BF%BD");
});

test("in a header, characters beyond Latin-1 become references, and no second header can be injected", () => {
  const named = values({ name: "é ā 😀\r\nX-Evil: 1" });
  expect(fillHeader("ā: $NAME $NAME_JSON", named)).toBe(
    '&#257;: é &#257; &#128512; X-Evil: 1 "\\u00e9 \\u0101 \\ud83d\\ude00\\r\\nX-Evil: 1"',
  );
});

test("JSON is equivalent ASCII JSON", () => {
  const value = { text: "é😀\u2028\u007f", list: [1, null] };
  expect(asciiJson(value)).toMatch(/^[ -~]+$/);
  expect(JSON.parse(asciiJson(value))).toEqual(value);
});

test("a template that expands beyond the limit is rejected before memory is full", () => {
  const large = values({}, { ping: { body: "x".repeat(100_000) } });
  expect(() => fill("$BODY".repeat(2_000), large)).toThrow(TooMuchError);
  expect(fill("$BODY".repeat(19), large)).toHaveLength(1_900_000);
  expect(() => fillAddress("https://h/$NAME", values({ name: "ā".repeat(10_000) }))).toThrow(TooMuchError);
  expect(() => fillHeader("$NAME", values({ name: "x".repeat(40_000) }))).toThrow(TooMuchError);
});
