// The labels of things without a name.
import { expect, test } from "vitest";
import { channelName } from "./words.ts";

test("a channel is labeled by its name, or by its email address, or by its kind", () => {
  const config = { value: "ops@example.org" };
  expect(channelName({ name: "Night shift", kind: "email", config })).toBe("Night shift");
  expect(channelName({ name: "", kind: "email", config })).toBe("ops@example.org");
  expect(channelName({ name: "", kind: "webhook", config: { value: "secret" } })).toBe("webhook");
  expect(channelName({ name: "", kind: "email" })).toBe("email");
});
