// What a create or update request may say about a check: one schema for each version, built from its rules. The
// walker reads it, OpenAPI prints it, the client is typed by it.
import { type Static, type TObject, type TSchema, Type } from "typebox";
import {
  DEFAULT_GRACE_SECONDS,
  DEFAULT_TIMEOUT_SECONDS,
  DEFAULT_TZ,
  DESCRIPTION_LENGTH_MAX,
  KEYWORDS_LENGTH_MAX,
  NAME_LENGTH_MAX,
  PERIOD_SECONDS_MAX,
  PERIOD_SECONDS_MIN,
  SCHEDULE_LENGTH_MAX,
  SLUG_LENGTH_MAX,
  TAGS_LENGTH_MAX,
} from "../core/limits.ts";
import {
  type BodyField,
  hasParam,
  PARAM_FIELDS,
  type ParamRules,
  type TextRule,
} from "../core/request/check-params.ts";
import { UNIQUE_FIELDS } from "../core/request/unique.ts";
import { EXTENSION } from "./check-fields.ts";

/** The key under which a schema names the rule of core that a text has to keep besides its shape. */
export const RULE = "x-rule";

type TextLimits = {
  maxLength?: number;
  pattern?: string;
  default?: string;
  deprecated?: true;
  description: string;
};

function text(rule: TextRule, limits: TextLimits) {
  return Type.String({ ...limits, [RULE]: rule });
}

const seconds = (options: { default: number; description: string }) =>
  Type.Integer({ minimum: PERIOD_SECONDS_MIN, maximum: PERIOD_SECONDS_MAX, ...options });
const keywords = (description: string) => text("storable", { maxLength: KEYWORDS_LENGTH_MAX, description });
const oldKeywords = (description: string) =>
  text("storable", { maxLength: KEYWORDS_LENGTH_MAX, deprecated: true, description });
const flag = (description: string) => Type.Boolean({ default: false, description });
const extension = (description: string) => Type.Boolean({ [EXTENSION]: true, default: false, description });

/** In version 3; other versions lack some of them, or accept less. */
const FIELDS = {
  channels: text("storable", {
    description:
      "Integrations: `*` for all, an empty string for none, or a comma-separated list of UUIDs or names.",
  }),
  desc: text("storable", { maxLength: DESCRIPTION_LENGTH_MAX, description: "Description." }),
  failure_kw: keywords("Comma-separated keywords for Failure pings."),
  filter_subject: flag("Match keywords in the subject of emails."),
  filter_body: flag("Match keywords in the body of emails."),
  filter_http_body: extension("Extension: match keywords in the body of HTTP pings."),
  filter_default_fail: extension("Extension: treat a message that matches no keyword as a failure."),
  grace: seconds({ default: DEFAULT_GRACE_SECONDS, description: "Grace period in seconds." }),
  manual_resume: flag("Whether a paused check ignores pings until it is resumed."),
  methods: Type.Unsafe<"" | "POST">({
    type: "string",
    enum: ["", "POST"],
    default: "",
    description: "Empty to accept HEAD, GET, and POST as pings; `POST` to accept only POST.",
  }),
  name: text("storable", { maxLength: NAME_LENGTH_MAX, default: "", description: "Name." }),
  schedule: text("schedule", {
    maxLength: SCHEDULE_LENGTH_MAX,
    description: "Cron or OnCalendar expression. Takes precedence over `timeout`.",
  }),
  slug: text("storable", {
    maxLength: SLUG_LENGTH_MAX,
    pattern: "^[a-z0-9_-]*$",
    default: "",
    description: "Slug.",
  }),
  start_kw: keywords("Comma-separated keywords for Start pings."),
  subject: oldKeywords("Deprecated: sets `success_kw` and `filter_subject`."),
  subject_fail: oldKeywords("Deprecated: sets `failure_kw` and `filter_subject`."),
  success_kw: keywords("Comma-separated keywords for Success pings."),
  tags: text("storable", {
    maxLength: TAGS_LENGTH_MAX,
    default: "",
    description: "Tags, separated by spaces.",
  }),
  timeout: seconds({ default: DEFAULT_TIMEOUT_SECONDS, description: "Expected period in seconds." }),
  tz: text("zone", { default: DEFAULT_TZ, description: "Time zone of the schedule." }),
  unique: Type.Array(
    Type.Unsafe<(typeof UNIQUE_FIELDS)[number]>({ type: "string", enum: [...UNIQUE_FIELDS] }),
    {
      default: [],
      description: "Fields used to find an existing check. If one matches, it is updated instead.",
    },
  ),
} as const satisfies Record<BodyField, TSchema>;

const ApiKeyField = Type.String({ description: "The API key, if it is not sent in the header." });

/** The schema of a request body in a version, its fields in core's order. An update has no use for `unique`, but judges it. */
export function checkBodySchema(rules: ParamRules): TObject {
  const properties: Record<string, TSchema> = {};
  for (const field of PARAM_FIELDS) {
    if (hasParam(field, rules)) properties[field.wire] = Type.Optional(narrowed(field.wire, rules));
  }
  return Type.Object({ ...properties, api_key: Type.Optional(ApiKeyField) });
}

function narrowed(wire: BodyField, { oncalendar, uniqueFields }: ParamRules): TSchema {
  const schema: TSchema = FIELDS[wire];
  if (wire === "schedule" && !oncalendar)
    return { ...schema, [RULE]: "cron", description: "Cron expression." };
  if (wire === "unique") return { ...schema, items: { type: "string", enum: [...uniqueFields] } };
  return schema;
}

const CheckBody = Type.Partial(Type.Object({ ...FIELDS, api_key: ApiKeyField }));
/** What version 3 accepts; for the types of the client. */
export type CheckBody = Static<typeof CheckBody>;
