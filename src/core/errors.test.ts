// Codes, texts and statuses of errors. Internal errors reveal no details.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  AppError,
  channelText,
  ERROR_TEXT,
  FIELD_PROBLEM,
  fieldText,
  HTTP_STATUS,
  queryText,
  refusalOf,
} from "./errors.ts";

describe("codes", () => {
  test("each code has its own HTTP status, and every one of them is a refusal", () => {
    const statuses = Object.values(HTTP_STATUS);
    expect(new Set(statuses).size).toBe(statuses.length);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([
      400, 401, 403, 404, 405, 409, 412, 413, 422, 429, 500, 503,
    ]);
  });

  test.each([
    ["invalid", 400],
    ["unauthenticated", 401],
    ["forbidden", 403],
    ["not_found", 404],
    ["method_not_allowed", 405],
    ["conflict", 409],
    ["too_large", 413],
    ["rate_limited", 429],
    ["internal", 500],
    ["unavailable", 503],
  ] as const)("%s is answered %i", (code, status) => {
    expect(HTTP_STATUS[code]).toBe(status);
  });
});

describe("texts", () => {
  test("no two texts are the same, so a text identifies its rule", () => {
    const texts = [...Object.values(ERROR_TEXT), ...Object.values(FIELD_PROBLEM)];
    expect(new Set<string>(texts).size).toBe(texts.length);
  });

  test("the texts that clients compare are exact", () => {
    expect(ERROR_TEXT.unparsableBody).toBe("could not parse request body");
    expect(ERROR_TEXT.notAnObject).toBe("json validation error: value is not an object");
    expect(ERROR_TEXT.uniqueItem).toBe("json validation error: an item in 'unique' has unexpected value");
    expect(ERROR_TEXT.missingKey).toBe("missing api key");
    expect(ERROR_TEXT.wrongKey).toBe("wrong api key");
    expect(ERROR_TEXT.checkLimit).toBe("check limit reached");
    expect(ERROR_TEXT.notFound).toBe("not found");
    expect(ERROR_TEXT.methodNotAllowed).toBe("method not allowed");
    expect(ERROR_TEXT.notPaused).toBe("check is not paused");
    expect(ERROR_TEXT.bodyTooLarge).toBe("request body too large");
    expect(ERROR_TEXT.emptyChannel).toBe("empty channel identifier");
    expect(ERROR_TEXT.invalidUrl).toBe("invalid url format");
    expect(ERROR_TEXT.invalidRunId).toBe("invalid uuid format");
    expect(ERROR_TEXT.ambiguousSlug).toBe("ambiguous slug");
  });

  test("a field's text names the field and then the problem", () => {
    expect(fieldText("tags", FIELD_PROBLEM.tooLong)).toBe("json validation error: tags is too long");
    expect(fieldText("schedule", FIELD_PROBLEM.cronOnly)).toBe(
      "json validation error: schedule is not a valid cron expression",
    );
  });

  test("a filter's text names the filter", () => {
    expect(queryText("seconds")).toBe("invalid query parameter: seconds");
  });

  test("a channel's text repeats the identifier as it was given, spaces included", () => {
    expect(channelText("invalid", " Ops")).toBe("invalid channel identifier:  Ops");
    expect(channelText("non-unique", "Twin")).toBe("non-unique channel identifier: Twin");
  });
});

describe("refusals", () => {
  test("an AppError is returned with its code and text", () => {
    expect(refusalOf(new AppError("conflict", ERROR_TEXT.notPaused))).toEqual({
      code: "conflict",
      text: "check is not paused",
    });
  });

  test("an internal error is returned without details, whatever was thrown", () => {
    fc.assert(
      fc.property(fc.anything(), fc.string(), (thing, message) => {
        const told = { code: "internal", text: "internal server error" };
        expect(refusalOf(thing)).toEqual(told);
        expect(refusalOf(new Error(message))).toEqual(told);
      }),
    );
  });
});
