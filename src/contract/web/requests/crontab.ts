// Checks made from a crontab that somebody pastes: what is asked, what is found in it, and what came of it.
import { type Static, Type } from "typebox";
import { CRONTAB_JOBS_MAX, CRONTAB_LENGTH_MAX, TZ_LENGTH_MAX } from "../../../core/limits.ts";
import { RULE } from "../../check-body.ts";
import type { CheckRow } from "../check-row.ts";

const FIELDS = {
  text: Type.String({ minLength: 1, maxLength: CRONTAB_LENGTH_MAX, [RULE]: "storable" }),
  /** The zone of the machine that the crontab is from; a zone in the text itself wins. */
  tz: Type.String({ maxLength: TZ_LENGTH_MAX, [RULE]: "zone" }),
};

export const CrontabRequest = Type.Object(FIELDS, { additionalProperties: false });
export type CrontabRequest = Static<typeof CrontabRequest>;

/** The lines whose jobs become checks, counted from 1. */
export const CrontabChecksRequest = Type.Object(
  {
    ...FIELDS,
    lines: Type.Array(Type.Integer({ minimum: 1, maximum: CRONTAB_LENGTH_MAX }), {
      minItems: 1,
      maxItems: CRONTAB_JOBS_MAX,
    }),
  },
  { additionalProperties: false },
);
export type CrontabChecksRequest = Static<typeof CrontabChecksRequest>;

export type FoundJob = {
  line: number;
  name: string;
  schedule: string;
  tz: string;
  /** When it runs, as a sentence. */
  sentence: string;
  nextAt: number | null;
  /** Sentences about an exit code that is not the job's, or a schedule that does less than it seems to. */
  warnings: string[];
};

export type FoundJobs = {
  jobs: FoundJob[];
  /** Lines that cannot be watched, each with a sentence that says why. */
  leftOut: { line: number; text: string; why: string }[];
};

export type CrontabChecks = {
  rows: CheckRow[];
  /** The crontab, in which each job that became a check reports. */
  crontab: string;
  /** Lines that would have to be changed by hand. */
  unchanged: { line: number; report: string }[];
  /** Why some were not made; null when all were. */
  refused: string | null;
};
