// Labels of settings.
import { expect, test } from "vitest";
import type { Delivery } from "../../src/contract/api/channels.ts";
import { deliveryWhat, fieldLabel } from "./channels.ts";

test.each([
  ["url_down", "URL when down"],
  ["method_up", "Method when up"],
  ["url_notice", "URL for notices"],
  ["chat_id", "Chat ID"],
  ["topic", "Topic"],
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
