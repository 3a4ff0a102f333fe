// From what is stored to the form and back.
import { expect, test } from "vitest";
import type { ChannelCard, KindField } from "../../src/contract/api/channels.ts";
import { configOf, type FormValues, mistakeOf, typedAddresses, valuesOf } from "./channel-form.tsx";

function field(name: string, given: Partial<KindField>): KindField {
  return {
    name,
    about: "",
    type: "text",
    isLong: false,
    isSecret: false,
    isMade: false,
    isRequired: false,
    isRare: false,
    choices: [],
    fallback: "",
    ...given,
  };
}

const FIELDS = [
  field("url", { isSecret: true }),
  field("priority", { type: "number", fallback: 3 }),
  field("up", { type: "flag", fallback: true }),
  field("headers", { type: "headers", fallback: {} }),
  field("members", { type: "channels", fallback: [] }),
];
const STORED = {
  config: { url: "https://…", priority: 5, up: false, headers: { A: "b: c" } },
} as unknown as ChannelCard;

test("a new channel begins with what its kind falls back to", () => {
  expect(valuesOf(FIELDS, null)).toEqual({ url: "", priority: "3", up: true, headers: "", members: [] });
});

test("a new channel is sent whole", () => {
  const values = { ...valuesOf(FIELDS, null), url: "https://a", headers: "A: b: c" };
  expect(configOf(FIELDS, { values, before: null })).toEqual({
    url: "https://a",
    priority: 3,
    up: true,
    headers: { A: "b: c" },
    members: [],
  });
});

test("a stored one shows everything but its secrets, and sends what was changed, and nothing else", () => {
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

test("a sentence about a field stands at the field, under the name that people see", () => {
  const fields = [field("url_down", {}), field("url", {})];
  expect(mistakeOf("Url_down must be an address.", fields)).toEqual({
    text: "URL when down must be an address.",
    field: "url_down",
  });
  expect(mistakeOf("Something else.", fields)).toEqual({ text: "Something else.", field: null });
});

test("only addresses that were typed are asked about", () => {
  const fields = [
    field("url_down", { type: "address" }),
    field("url_up", { type: "address" }),
    field("body", {}),
  ];
  const values = { url_down: " http://10.0.0.1/x ", url_up: "", body: "text" };
  expect(typedAddresses(fields, values)).toEqual({ url_down: "http://10.0.0.1/x" });
});
