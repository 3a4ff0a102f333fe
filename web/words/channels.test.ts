// Names of settings as people read them.
import { expect, test } from "vitest";
import { fieldLabel } from "./channels.ts";

test.each([
  ["url_down", "URL when down"],
  ["method_up", "Method when up"],
  ["url_notice", "URL for notices"],
  ["chat_id", "Chat ID"],
  ["topic", "Topic"],
])("%s", (name, label) => {
  expect(fieldLabel(name)).toBe(label);
});
