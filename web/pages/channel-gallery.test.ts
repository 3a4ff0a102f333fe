// Which kinds the gallery shows for a search, their initials, and how a request is written in the preview.
import { expect, test } from "vitest";
import type { ChannelKindInfo } from "../../src/contract/api/channels.ts";
import { type Category, foundKinds } from "./channel-gallery.tsx";
import { initialsOf } from "./channel-icon.tsx";
import { requestText } from "./channel-preview.tsx";

function kind(name: string, category: Category, description = ""): ChannelKindInfo {
  const rest = { icon: null, guide: [], unavailable: null, rateLimit: null, schema: { properties: {} } };
  return { name, title: name.toUpperCase(), description, category, ...rest };
}

const KINDS = [
  kind("slack", "chat", "Sends messages to a Slack channel."),
  kind("ntfy", "push", "Push notifications through your own server."),
  kind("sms", "phone"),
];

test.each<[string, Category | null, string[]]>([
  ["", null, ["slack", "ntfy", "sms"]],
  ["  ", "push", ["ntfy"]],
  ["NTF", null, ["ntfy"]],
  ["own push", null, ["ntfy"]],
  ["messages", null, ["slack"]],
  ["s", null, ["slack", "sms", "ntfy"]],
  ["own slack", null, []],
  ["phone", null, ["sms"]],
  ["slack", "phone", []],
])("%j in %s finds %j", (text, category, names) => {
  expect(foundKinds(KINDS, { text, category }).map(({ name }) => name)).toEqual(names);
});

test.each([
  ["Slack", "Sl"],
  ["Microsoft Teams", "MT"],
  ["DingTalk", "DT"],
  ["incident.io", "In"],
  ["Amazon SNS", "AS"],
])("%s has the initials %s", (title, initials) => {
  expect(initialsOf(title)).toBe(initials);
});

test("a request is shown with its headers, and JSON on several lines", () => {
  const request = { method: "POST", url: "https://a.example/x", headers: { Accept: "*/*" } };
  expect(requestText({ ...request, body: '{"a":1}' })).toBe(
    'POST https://a.example/x\nAccept: */*\n\n{\n  "a": 1\n}',
  );
  expect(requestText({ ...request, body: "a=1&b" })).toBe("POST https://a.example/x\nAccept: */*\n\na=1&b");
  expect(requestText({ ...request, method: "GET", headers: {}, body: "" })).toBe("GET https://a.example/x");
});
