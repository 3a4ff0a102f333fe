// The two dialects of the API, and which recorded answer a server has to give in each. What the decisions named
// here changed is answered the reference's way in the second dialect; everything else is the same in both.
import type { Expectation, Step } from "./case-file.ts";

export const DIALECTS = ["standard", "healthchecks"] as const;
export type Dialect = (typeof DIALECTS)[number];

/** The decisions whose other side the second dialect takes. */
const TAKEN_BACK = new Set(["D1", "D2", "D4", "D5", "D19"]);

/** Fields that the reference has beyond the agreed ones, so that nobody is blamed for having them too. */
const REFERENCE_FIELDS: ReadonlySet<string> = new Set(
  (
    "uuid subject subject_fail started last_duration badge_url resume_url start_kw success_kw failure_kw " +
    "filter_subject filter_body filter_http_body filter_default_fail rid body_url"
  ).split(" "),
);

const NO_FIELDS: ReadonlySet<string> = new Set();

/** The fields that an answer may have although nothing expects them. */
export function toleratedFields(dialect: Dialect): ReadonlySet<string> {
  return dialect === "standard" ? NO_FIELDS : REFERENCE_FIELDS;
}

/**
 * What the answer to a step is held against. It is not judged where a decision that the dialect takes back
 * meets one that it keeps: then neither of the two recorded answers is right, and only names are taken from it.
 */
export function expectationOf(step: Step, dialect: Dialect): { expectation: Expectation; isJudged: boolean } {
  const { expect, reference, decided = "" } = step;
  const decisions = decided.match(/D\d+/g) ?? [];
  const isRetracted = dialect !== "standard" && decisions.some((one) => TAKEN_BACK.has(one));
  if (reference === undefined || !isRetracted) return { expectation: expect, isJudged: true };
  return { expectation: reference, isJudged: decisions.every((one) => TAKEN_BACK.has(one)) };
}
