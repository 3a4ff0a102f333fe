// The version table: what each version lacks, and that the second dialect changes only its own rows.
import { describe, expect, test } from "vitest";
import { PARAM_FIELDS } from "../core/check.ts";
import { checkBodySchema } from "./check.ts";
import { ROUTES } from "./routes.ts";
import { hasEndpoint, postedColumn, type VersionColumn, VERSIONS } from "./versions.ts";

const { standard, healthchecks } = VERSIONS;

/** The rows in which two columns differ. */
function differences(one: VersionColumn, other: VersionColumn): string[] {
  return (Object.keys(one) as (keyof VersionColumn)[]).filter(
    (row) => JSON.stringify(one[row]) !== JSON.stringify(other[row]),
  );
}

describe("the standard dialect", () => {
  test("version 2 is version 3 with slugs made from names", () => {
    expect(differences(standard[2], standard[3])).toEqual(["number", "params"]);
    expect({ ...standard[2].params, deriveSlug: false }).toEqual(standard[3].params);
  });

  test("version 1 has no resume, body and status", () => {
    const missing = ROUTES.filter(({ endpoint }) => !hasEndpoint(standard[1], endpoint));
    expect(missing.map(({ endpoint }) => endpoint).toSorted()).toEqual([
      "getPingBody",
      "getStatus",
      "resumeCheck",
    ]);
  });
});

describe("the other dialect", () => {
  test("changes only the rows that it is for", () => {
    const changed = [1, 2, 3].flatMap((version) =>
      differences(healthchecks[version as 1 | 2 | 3], standard[version as 1 | 2 | 3]),
    );
    expect(new Set(changed)).toEqual(
      new Set([
        "dialect",
        "endpoints",
        "params",
        "listBySlug",
        "checkFields",
        "keyFields",
        "subjectsOn",
        "extensions",
        "pingFields",
        "flips",
        "statusAnswer",
      ]),
    );
  });

  test("version 1 still accepts no OnCalendar expressions and still makes slugs", () => {
    expect(healthchecks[1].params).toMatchObject({ oncalendar: false, deriveSlug: true, slugParam: true });
  });

  test("a list requested by POST has flips as an array", () => {
    expect(postedColumn(healthchecks[3]).flips).toBe("array");
  });
});

test("a body's schema has the fields of its version in core's order, and the key", () => {
  const fields = (column: VersionColumn) => Object.keys(checkBodySchema(column.params).properties);
  const all = PARAM_FIELDS.map(({ wire }) => wire);
  expect(fields(standard[3])).toEqual([...all, "api_key"]);
  expect(fields(standard[1]).join(" ")).toBe(
    "channels desc grace manual_resume methods name schedule subject subject_fail tags timeout tz unique api_key",
  );
});
