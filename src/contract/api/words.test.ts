// What things without a name are called.
import { expect, test } from "vitest";
import { channelName } from "./words.ts";

test("a channel is called by its name, or by the address that it writes to, or by how it tells", () => {
  const config = { value: "ops@example.org" };
  expect(channelName({ name: "Night shift", kind: "email", config })).toBe("Night shift");
  expect(channelName({ name: "", kind: "email", config })).toBe("ops@example.org");
  expect(channelName({ name: "", kind: "webhook", config: { value: "secret" } })).toBe("webhook");
  expect(channelName({ name: "", kind: "email" })).toBe("email");
});
