// Schemas of a check as a whole: what an answer contains in a version, with a key. What a request may say is in
// check-body.ts.
import { type Static, type TObject, type TSchema, Type } from "typebox";
import type { KeyKind } from "../core/identity.ts";
import { CHECK_FIELDS, type CheckField, TIMING_FIELDS } from "./check-fields.ts";
import type { ApiEndpoint, VersionColumn } from "./versions.ts";

const SUBJECTS: readonly CheckField[] = ["subject", "subject_fail"];
const EXTENSIONS: readonly CheckField[] = ["filter_http_body", "filter_default_fail"];

/** Which answer is meant: what is shown depends on the version, the endpoint and the key. */
export type Showing = { column: VersionColumn; endpoint: ApiEndpoint; keyKind: KeyKind };

/** The fields of a check in the order in which they are shown, those at its end by its kind left out. */
export function shownFields({ column, endpoint, keyKind }: Showing): CheckField[] {
  const hasSubjects = column.subjectsOn.includes(endpoint);
  const common = column.checkFields.filter((field) => hasSubjects || !SUBJECTS.includes(field));
  return [...common, ...column.keyFields[keyKind]];
}

/** Whether a field may be missing although its answer shows it in general. */
export function isSometimesShown(field: CheckField, column: VersionColumn): boolean {
  return field === "last_duration" || (column.extensions === "whenSet" && EXTENSIONS.includes(field));
}

/** The schema of a check in an answer. */
export function checkSchema(showing: Showing): TObject {
  const properties: Record<string, TSchema> = {};
  for (const field of shownFields(showing)) {
    const schema = field === "status" ? statusSchema(showing.column) : CHECK_FIELDS[field];
    properties[field] = isSometimesShown(field, showing.column) ? Type.Optional(schema) : schema;
  }
  for (const field of [...TIMING_FIELDS.simple, ...TIMING_FIELDS.scheduled]) {
    properties[field] = Type.Optional(CHECK_FIELDS[field]);
  }
  return Type.Object(properties, { additionalProperties: false });
}

/** A status of version 3. */
const Status = Type.Unsafe<"new" | "up" | "grace" | "down" | "paused">({
  type: "string",
  enum: ["new", "up", "grace", "down", "paused"],
  description: "Status of the check.",
});

function statusSchema(column: VersionColumn): TSchema {
  return column.startedIsStatus ? CHECK_FIELDS.status : Status;
}

const { name, slug, tags, desc, grace, n_pings, started, last_ping, next_ping, manual_resume, methods } =
  CHECK_FIELDS;
const { start_kw, success_kw, failure_kw, filter_subject, filter_body, badge_url } = CHECK_FIELDS;

const COMMON_3 = {
  name,
  slug,
  tags,
  desc,
  grace,
  n_pings,
  status: Status,
  started,
  last_ping,
  next_ping,
  manual_resume,
  methods,
  start_kw,
  success_kw,
  failure_kw,
  filter_subject,
  filter_body,
  badge_url,
  subject: Type.Optional(CHECK_FIELDS.subject),
  subject_fail: Type.Optional(CHECK_FIELDS.subject_fail),
  filter_http_body: Type.Optional(CHECK_FIELDS.filter_http_body),
  filter_default_fail: Type.Optional(CHECK_FIELDS.filter_default_fail),
  last_duration: Type.Optional(CHECK_FIELDS.last_duration),
  timeout: Type.Optional(CHECK_FIELDS.timeout),
  schedule: Type.Optional(CHECK_FIELDS.schedule),
  tz: Type.Optional(CHECK_FIELDS.tz),
};
const { uuid, ping_url, update_url, pause_url, resume_url, channels, unique_key } = CHECK_FIELDS;

/** A check of version 3 as whoever has a read-write key sees it; for the types of the client. */
export const Check = Type.Object({
  ...COMMON_3,
  uuid,
  ping_url,
  update_url,
  pause_url,
  resume_url,
  channels,
});
export type Check = Static<typeof Check>;

/** The same with a read-only key. */
export const ReadOnlyCheck = Type.Object({ ...COMMON_3, unique_key });
export type ReadOnlyCheck = Static<typeof ReadOnlyCheck>;
