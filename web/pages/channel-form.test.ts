// Converts stored values to the form and back.
import { expect, test } from "vitest";
import type { Channel } from "../../src/contract/api/channels.ts";
import { fieldLabel } from "../words/channels.ts";
import {
  configOf,
  fieldsOf,
  type FormValues,
  type KindField,
  mistakeOf,
  typedUrls,
  usesAdvanced,
  valuesOf,
} from "./channel-form.tsx";

function field(name: string, given: Partial<KindField>): KindField {
  return {
    name,
    label: fieldLabel(name),
    description: "",
    type: "text",
    isLong: false,
    isSecret: false,
    isGenerated: false,
    isRequired: false,
    isAdvanced: false,
    choices: [],
    initial: "",
    ...given,
  };
}

const FIELDS = [
  field("url", { isSecret: true }),
  field("priority", { type: "number", initial: 3 }),
  field("up", { type: "flag", initial: true }),
  field("headers", { type: "headers", initial: {} }),
  field("members", { type: "channels", initial: [] }),
];
const STORED = {
  config: { url: "https://…", priority: 5, up: false, headers: { A: "b: c" } },
} as unknown as Channel;

test("a new channel starts with the defaults of its kind", () => {
  expect(valuesOf(FIELDS, null)).toEqual({ url: "", priority: "3", up: true, headers: "", members: [] });
});

test("all fields of a new channel are sent", () => {
  const values = { ...valuesOf(FIELDS, null), url: "https://a", headers: "A: b: c" };
  expect(configOf(FIELDS, { values, before: null })).toEqual({
    url: "https://a",
    priority: 3,
    up: true,
    headers: { A: "b: c" },
    members: [],
  });
});

test("a stored channel shows everything but its secrets, and only changed fields are sent", () => {
  const before = valuesOf(FIELDS, STORED);
  expect(before).toMatchObject({ url: "", priority: "5", up: false, headers: "A: b: c" });
  expect(configOf(FIELDS, { values: { ...before }, before })).toEqual({});
  const typed: [FormValues, object][] = [
    [{ url: "https://new" }, { url: "https://new" }],
    [{ priority: "4" }, { priority: 4 }],
    [{ members: ["a"] }, { members: ["a"] }],
    [{ headers: "" }, { headers: {} }],
  ];
  for (const [change, sent] of typed) {
    expect(configOf(FIELDS, { values: { ...before, ...change }, before })).toEqual(sent);
  }
});

test("an error about a field is shown at the field, with the label of the field", () => {
  const fields = [field("url_down", {}), field("url", {})];
  expect(mistakeOf("Url_down must be an address.", fields)).toEqual({
    text: "URL when down must be an address.",
    field: "url_down",
  });
  expect(mistakeOf("Something else.", fields)).toEqual({ text: "Something else.", field: null });
});

test("only URLs in the form are checked", () => {
  const fields = [field("url_down", { type: "url" }), field("url_up", { type: "url" }), field("body", {})];
  const values = { url_down: " http://10.0.0.1/x ", url_up: "", body: "text" };
  expect(typedUrls(fields, values)).toEqual({ url_down: "http://10.0.0.1/x" });
});

test("fields are made from the schema of the kind", () => {
  // As the server sends it for the kind webhook.
  const schema = {
    properties: {
      url_down: { type: "string", default: "", writeOnly: true, format: "uri", maxLength: 1000 },
      headers_down: {
        type: "object",
        patternProperties: { "^.*$": { type: "string" } },
        default: {},
        writeOnly: true,
        maxProperties: 30,
      },
      secret: { type: "string", default: "", writeOnly: true, "x-made": "webhookSecret", maxLength: 100 },
    },
  };
  const fields = fieldsOf({ schema });
  const named = (name: string) => fields.find((one) => one.name === name);
  expect(named("url_down")).toMatchObject({
    type: "url",
    isSecret: true,
    isRequired: false,
    isAdvanced: false,
  });
  expect(named("headers_down")).toMatchObject({ type: "headers", isAdvanced: true });
  expect(named("secret")).toMatchObject({ type: "text", isSecret: true, isGenerated: true });
  const channel = (config: object) => ({ config }) as unknown as Channel;
  expect(usesAdvanced(fields, null)).toBe(false);
  expect(usesAdvanced(fields, channel({ url_down: "https://…" }))).toBe(false);
  expect(usesAdvanced(fields, channel({ headers_down: { A: "********" } }))).toBe(true);
});
