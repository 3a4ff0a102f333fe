// Labels of settings.
import { expect, test } from "vitest";
import type { Channel, Delivery } from "../../src/contract/api/channels.ts";
import { channelsWords, deliveryOutcome, deliveryWhat, fieldLabel, galleryWords } from "./channels.ts";

test.each([
  ["url_down", "URL when down"],
  ["method_up", "Method when up"],
  ["url_notice", "URL for notices"],
  ["chat_id", "Chat ID"],
  ["topic", "Topic"],
  ["topic_arn", "Topic ARN"],
  ["mtype", "Recipient type"],
])("%s", (name, label) => {
  expect(fieldLabel(name)).toBe(label);
});

test.each([
  ["flip", "down", "down, nightly"],
  ["flip", "up", "up, nightly"],
  ["flip", null, "status change, nightly"],
  ["correction", "down", "correction, nightly"],
] as const)("a delivery of kind %s to %s reads %s", (kind, to, text) => {
  const check = { id: "", name: "nightly" };
  expect(deliveryWhat({ kind, to, check } as Delivery)).toBe(text);
});

test("the schema says what a value and a URL are", () => {
  expect(fieldLabel("value", { pattern: "^[^@]+@[^@]+$" })).toBe("Email address");
  expect(fieldLabel("value", { format: "phone" })).toBe("Phone number");
  expect(fieldLabel("value", { pattern: "^\\+[0-9]{5,15}$" })).toBe("Recipient");
  expect(fieldLabel("url", { description: "The incoming webhook URL, such as x." })).toBe(
    "Incoming webhook URL",
  );
  expect(fieldLabel("url", { description: "The URL of the server." })).toBe("URL");
});

test("the card of a kind lists what has to be entered, and how many of its channels work", () => {
  expect(galleryWords.needs(["URL", "Token"])).toBe("URL and token");
  expect(galleryWords.needs(["Source ID", "API key"])).toBe("Source ID and API key");
  expect(galleryWords.connected(2, 0)).toBe("2 connected");
  expect(galleryWords.connected(1, 1)).toBe("Needs attention");
  expect(galleryWords.connected(3, 2)).toBe("2 of 3 need attention");
});

const WORKING = { notifies: true, isEnabled: true, lastError: null, warnings: [] } as unknown as Channel;

test.each<[Partial<Channel>[], string]>([
  [[], "No channels yet"],
  [[{}], "Your channel works"],
  [[{}, {}], "All 2 channels work"],
  [[{ lastNotifiedAt: null }], "Test your channel"],
  [[{}, { lastNotifiedAt: null }, { lastNotifiedAt: null, kind: "group" }], "1 channel is not tested yet"],
  [[{}, { notifies: false }], "1 channel needs attention"],
  [[{ lastError: "HTTP 500" }, { isEnabled: false }, {}], "2 channels need attention"],
])("%j: %s", (channels, title) => {
  expect(channelsWords.title(channels.map((one) => ({ ...WORKING, ...one })))).toBe(title);
});

test("the first names are listed, and how many more there are", () => {
  expect(channelsWords.mayNotArrive(["A"])).toBe("Notifications may not arrive: A.");
  expect(channelsWords.mayNotArrive(["A", "B"])).toBe("Notifications may not arrive: A and B.");
  expect(channelsWords.mayNotArrive(["A", "B", "C", "D"])).toBe(
    "Notifications may not arrive: A, B, C and 1 more.",
  );
});

test("a status that the reason has, too, is shown once", () => {
  const failed = { state: "dead", responseCode: 401, channel: null } as const;
  expect(deliveryOutcome({ ...failed, reason: "Refused (HTTP 401)" })).toBe("Failed: Refused (HTTP 401)");
  expect(deliveryOutcome({ ...failed, reason: "Refused" })).toBe("Failed (HTTP 401): Refused");
  expect(deliveryOutcome({ ...failed, reason: "Received status code 401" })).toBe("Failed: HTTP 401");
});
