// Request bodies, field by field: what is accepted, and the exact error text otherwise.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ParamRules, requestObject, UNIQUE_FIELDS } from "../core/check.ts";
import { checkBodySchema, readCheckRequest } from "./check.ts";

const V3: ParamRules = {
  slugParam: true,
  deriveSlug: false,
  keywordParams: true,
  oncalendar: true,
  uniqueFields: UNIQUE_FIELDS,
};
const V1: ParamRules = {
  slugParam: false,
  deriveSlug: true,
  keywordParams: false,
  oncalendar: false,
  uniqueFields: ["name", "tags", "timeout", "grace"],
};

/** Parses like a request: returns the error text, or the parameters. */
function read(json: unknown, rules: ParamRules = V3) {
  const object = requestObject(json);
  if (!object.ok) return object.text;
  const request = readCheckRequest(object.value, { schema: checkBodySchema(rules), rules });
  return request.ok ? request.value : request.text;
}
const problem = (field: string, words: string) => `json validation error: ${field} ${words}`;
const understood = (params: object) => ({ params, channels: null, unique: [] });

const STRINGS = [
  "channels",
  "desc",
  "failure_kw",
  "name",
  "schedule",
  "slug",
  "start_kw",
  "subject",
  "subject_fail",
  "success_kw",
  "tags",
  "tz",
];
const BOOLEANS = [
  "filter_subject",
  "filter_body",
  "filter_http_body",
  "filter_default_fail",
  "manual_resume",
];
const NUMBERS = ["grace", "timeout"];

describe("the body", () => {
  test.each([[[]], ["name"], [1], [0], [true], [false], [[{}]], [""]])("%j is not an object", (json) => {
    expect(read(json)).toBe("json validation error: value is not an object");
  });

  test.each([[null], [{}]])("%j says nothing", (json) => {
    expect(read(json)).toEqual(understood({}));
  });

  test("unknown fields are ignored, whatever they contain", () => {
    expect(read({ foo: 1, bar: null, uuid: [], kind: "x", api_key: 1, toString: 1 })).toEqual(understood({}));
    expect(read(JSON.parse('{"__proto__": {"name": 1}, "constructor": null}'))).toEqual(understood({}));
  });

  test("an inherited property is not a given field", () => {
    expect(read(Object.create({ name: 1, unique: 1 }))).toEqual(understood({}));
  });

  test("every field sets its parameter", () => {
    const body = {
      channels: "*",
      desc: "d",
      failure_kw: "f",
      filter_subject: true,
      filter_body: true,
      filter_http_body: false,
      filter_default_fail: true,
      grace: 60,
      manual_resume: true,
      methods: "POST",
      name: "n",
      schedule: "0 0 * * *",
      slug: "s",
      start_kw: "st",
      subject: "sub",
      subject_fail: "subf",
      success_kw: "su",
      tags: "t",
      timeout: 120,
      tz: "Europe/Riga",
      unique: ["name", "slug", "name"],
    };
    expect(read(body)).toEqual({
      params: {
        desc: "d",
        failureKw: "f",
        filterSubject: true,
        filterBody: true,
        filterHttpBody: false,
        filterDefaultFail: true,
        graceSeconds: 60,
        manualResume: true,
        methods: "POST",
        name: "n",
        schedule: "0 0 * * *",
        slug: "s",
        startKw: "st",
        subject: "sub",
        subjectFail: "subf",
        successKw: "su",
        tags: "t",
        timeoutSeconds: 120,
        tz: "Europe/Riga",
      },
      channels: "*",
      unique: ["name", "slug"],
    });
  });
});

describe("types", () => {
  test.each(STRINGS)("%s must be a string, not null", (field) => {
    for (const value of [1, 1.5, true, null, [], {}, ["a"]]) {
      expect(read({ [field]: value })).toBe(problem(field, "is not a string"));
    }
  });

  test.each(BOOLEANS)("%s must be a boolean, not null", (field) => {
    for (const value of ["true", "", 1, 0, null, [], {}]) {
      expect(read({ [field]: value })).toBe(problem(field, "is not a boolean"));
    }
  });

  test.each(NUMBERS)("%s must be a whole number, not null", (field) => {
    for (const value of ["3600", "", null, [], {}, [60], 60.5, 1e-7, 59.999]) {
      expect(read({ [field]: value })).toBe(problem(field, "is not a number"));
    }
  });

  test.each(NUMBERS)("%s with more digits than a number can hold is too large or too small", (field) => {
    const digits = "9".repeat(400);
    expect(read(JSON.parse(`{"${field}": ${digits}}`))).toBe(problem(field, "is too large"));
    expect(read(JSON.parse(`{"${field}": -${digits}}`))).toBe(problem(field, "is too small"));
    expect(read({ [field]: Number.NaN })).toBe(problem(field, "is not a number"));
  });
});

describe("numbers", () => {
  test.each(NUMBERS)("%s is from 60 to 31536000, and absurd ones are no exception", (field) => {
    for (const value of [59, 0, -1, -60, -0, -1e30, true, false]) {
      expect(read({ [field]: value })).toBe(problem(field, "is too small"));
    }
    for (const value of [31_536_001, 99_999_999_999, 1e30, Number.MAX_VALUE]) {
      expect(read({ [field]: value })).toBe(problem(field, "is too large"));
    }
    for (const value of [60, 31_536_000]) expect(read({ [field]: value })).toBeTypeOf("object");
  });

  test.each(["60.0", "6e1", "60"])("%s is 60, however it is written", (literal) => {
    expect(read(JSON.parse(`{"timeout": ${literal}}`))).toEqual(understood({ timeoutSeconds: 60 }));
  });
});

describe("texts", () => {
  test.each([
    ["name", 100],
    ["start_kw", 200],
    ["success_kw", 200],
    ["failure_kw", 200],
    ["subject", 200],
    ["subject_fail", 200],
    ["tags", 500],
    ["desc", 65_536],
  ])("%s may have %i characters, counted as people count", (field, max) => {
    for (const char of ["x", "😀"]) {
      expect(read({ [field]: char.repeat(max) })).toBeTypeOf("object");
      expect(read({ [field]: char.repeat(max + 1) })).toBe(problem(field, "is too long"));
      expect(read({ [field]: char.repeat(10 * max) })).toBe(problem(field, "is too long"));
    }
  });

  test("channels, which is not stored, has no length limit", () => {
    expect(read({ channels: "x".repeat(100_000) })).toBeTypeOf("object");
  });

  test.each([
    "channels",
    "desc",
    "name",
    "start_kw",
    "success_kw",
    "failure_kw",
    "subject",
    "subject_fail",
    "tags",
  ])("%s may hold neither NUL nor half of a surrogate pair", (field) => {
    for (const value of ["a\0b", "\ud800", "\udc00x", "\udc00\ud800"]) {
      expect(read({ [field]: value })).toBe(problem(field, "contains a character that cannot be stored"));
    }
    expect(read({ [field]: "\ud83d\ude00\n\t\u007f" })).toBeTypeOf("object");
  });

  test("fields with their own syntax report a syntax error", () => {
    expect(read({ slug: "a\0b" })).toBe(problem("slug", "does not match pattern"));
    expect(read({ tz: "UTC\0" })).toBe(problem("tz", "is not a valid timezone"));
    expect(read({ schedule: "* * * * *\0" })).toBe(
      problem("schedule", "is not a valid cron or OnCalendar expression"),
    );
  });

  test.each(["A", "a b", "ā", "a.b", "a/b", " a", "a\n", "\n", "😀"])(
    "the slug %j does not match",
    (slug) => {
      expect(read({ slug })).toBe(problem("slug", "does not match pattern"));
    },
  );

  test("the length of a slug is reported before the pattern", () => {
    expect(read({ slug: "A".repeat(101) })).toBe(problem("slug", "is too long"));
    expect(read({ slug: "a".repeat(100) })).toEqual(understood({ slug: "a".repeat(100) }));
    expect(read({ slug: "" })).toEqual(understood({ slug: "" }));
  });

  test.each(["GET", "post", "POST ", "GET, POST", null, 1, [], {}, true])(
    "methods cannot be %j",
    (methods) => {
      expect(read({ methods })).toBe(problem("methods", "has unexpected value"));
    },
  );

  test("methods can be empty or POST", () => {
    expect(read({ methods: "" })).toEqual(understood({ methods: "" }));
    expect(read({ methods: "POST" })).toEqual(understood({ methods: "POST" }));
  });
});

describe("schedules and zones", () => {
  test.each(["0 0 * * *", " 0 0 * * * ", "daily", "Mon..Fri 10:00", "10:00\n15:00 Asia/Tokyo", "2019-01-01"])(
    "%j is a schedule, stored as given",
    (schedule) => {
      expect(read({ schedule })).toEqual(understood({ schedule }));
    },
  );

  test.each(["", " ", "* * * *", "60 * * * *", "@daily", "0 0 31 2 *", "*:*/15", "12:34 utc", "every day"])(
    "%j is not a schedule",
    (schedule) => {
      const text = problem("schedule", "is not a valid cron or OnCalendar expression");
      expect(read({ schedule })).toBe(text);
      expect(read({ schedule }, V1)).toBe(text);
    },
  );

  test("the length of a schedule is reported before other errors", () => {
    expect(read({ schedule: "x".repeat(101) })).toBe(problem("schedule", "is too long"));
    expect(read({ schedule: `${" ".repeat(92)}0 0 * * *` })).toBe(problem("schedule", "is too long"));
  });

  test.each(["UTC", "Etc/UTC", "Europe/Riga", "Europe/Kiev", "US/Pacific"])(
    "%s is a zone, kept as given",
    (tz) => {
      expect(read({ tz })).toEqual(understood({ tz }));
    },
  );

  test.each(["", "x", "europe/riga", "utc", " UTC", "UTC ", "+02:00", "localtime", "Factory", "../UTC"])(
    "%j is no zone",
    (tz) => {
      expect(read({ tz })).toBe(problem("tz", "is not a valid timezone"));
    },
  );
});

describe("unique", () => {
  test.each(["name", null, {}, 1, true])("%j is not an array", (unique) => {
    expect(read({ unique })).toBe("json validation error: unique is not an array");
  });

  test.each([["desc"], ["name", "foo"], [1], [null], [""], ["Name"], [["name"]], ["uuid"], ["schedule"]])(
    "[%j …] contains something other than the allowed fields",
    (...unique) => {
      expect(read({ unique })).toBe("json validation error: an item in 'unique' has unexpected value");
    },
  );

  test("may be empty, and names each field once", () => {
    expect(read({ unique: [] })).toEqual(understood({}));
    expect(read({ unique: ["grace", "name", "grace"] })).toMatchObject({ unique: ["grace", "name"] });
  });
});

describe("version 1", () => {
  test("takes slug and the keyword fields for unknown ones", () => {
    const body = {
      slug: 1,
      start_kw: 1,
      success_kw: "B",
      failure_kw: null,
      filter_subject: true,
      filter_body: "x",
      filter_http_body: 1,
      filter_default_fail: true,
    };
    expect(read(body, V1)).toEqual(understood({}));
  });

  test("accepts subject and subject_fail", () => {
    expect(read({ subject: "OK", subject_fail: "BAD" }, V1)).toEqual(
      understood({ subject: "OK", subjectFail: "BAD" }),
    );
  });

  test("knows cron expressions only, and says so of an OnCalendar one", () => {
    expect(read({ schedule: "*/5 * * * *" }, V1)).toEqual(understood({ schedule: "*/5 * * * *" }));
    for (const schedule of ["daily", "Mon..Fri 10:00"]) {
      expect(read({ schedule }, V1)).toBe(problem("schedule", "is not a valid cron expression"));
    }
  });

  test("does not allow slug in unique", () => {
    expect(read({ slug: "n", unique: ["slug"] }, V1)).toBe(
      "json validation error: an item in 'unique' has unexpected value",
    );
  });
});

describe("the order", () => {
  const ORDER = [
    "channels",
    "desc",
    "failure_kw",
    "filter_subject",
    "filter_body",
    "filter_http_body",
    "filter_default_fail",
    "grace",
    "manual_resume",
    "methods",
    "name",
    "schedule",
    "slug",
    "start_kw",
    "subject",
    "subject_fail",
    "success_kw",
    "tags",
    "timeout",
    "tz",
    "unique",
  ];

  test("of all wrong fields only the first is told, wherever it stands in the request", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(ORDER, { minLength: 1 }), (fields) => {
        const body = Object.fromEntries(fields.map((field) => [field, null]));
        const first = ORDER.find((field) => fields.includes(field));
        expect(read(body)).toMatch(new RegExp(`^json validation error: ${first} (is not|has) `));
      }),
    );
  });

  test("a valid field never hides an invalid one", () => {
    expect(read({ channels: "x", name: "n", tz: "x", timeout: 1 })).toBe(problem("timeout", "is too small"));
  });
});

describe("any JSON", () => {
  test("is accepted or rejected with a text, without exceptions", () => {
    const known = fc.constantFrom(...STRINGS, ...BOOLEANS, ...NUMBERS, "methods", "unique");
    const json = fc.oneof(fc.jsonValue(), fc.dictionary(known, fc.jsonValue()));
    fc.assert(
      fc.property(json, fc.constantFrom(V1, V3), (value, rules) => {
        const result = read(value, rules);
        if (typeof result === "string") expect(result).toMatch(/^json validation error: /);
        else expect(result.unique.every((field) => rules.uniqueFields.includes(field))).toBe(true);
      }),
    );
  });
});
