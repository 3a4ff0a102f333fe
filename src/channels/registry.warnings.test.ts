// Warnings about URLs that will be rejected, without name lookups.
import { describe, expect, test } from "vitest";
import { addressWarnings } from "./registry.ts";

const warned = (url: unknown, allowPrivate = false) =>
  addressWarnings({ kind: "slack", config: { url } }, { allowPrivate, sendsMail: true }).map(
    ({ text }) => text,
  );

const REACH = { allowPrivate: false, sendsMail: true };
const MAY_BE_ALLOWED = /OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS=true/;

describe("a warning", () => {
  test.each([
    "http://127.0.0.1/x",
    "127.1",
    "http://2130706433/",
    "http://[::1]:8080/",
    "http://[::ffff:10.0.0.1]/",
    "https://u:p@192.168.1.4/hook",
    "http://localhost:8065/",
    "http://chat.localhost./",
  ])("of %s names the setting, and is absent if the setting is set", (address) => {
    expect(warned(address)).toEqual([expect.stringMatching(MAY_BE_ALLOWED)]);
    expect(warned(address, true)).toEqual([]);
  });

  test.each([
    "http://169.254.169.254/latest",
    "http://[fe80::1]/",
    "http://0.0.0.0/",
    "http://100.100.100.200/",
  ])("of %s says that the address is always blocked", (address) => {
    for (const allowPrivate of [false, true]) {
      const [text = ""] = warned(address, allowPrivate);
      expect(text).toMatch(/always blocked/);
      expect(text).not.toMatch(MAY_BE_ALLOWED);
    }
  });

  test("about a non-HTTP port says so", () => {
    expect(warned("http://chat.example.org:6379/")).toEqual([
      expect.stringContaining("chat.example.org:6379 uses a port that is reserved"),
    ]);
  });

  test.each([
    "https://hooks.slack.com/x",
    "http://8.8.8.8",
    "https://",
    "",
    "http://intranet/x",
    7,
    undefined,
  ])("is not given for %s", (address) => {
    expect(warned(address)).toEqual([]);
  });

  test("shows only the host of a secret URL", () => {
    expect(warned("https://user:pass@10.0.0.1/s3cret?k=v").join()).not.toMatch(/user|pass|s3cret/);
  });

  test("an email address without a mail server causes a warning that names the setting", () => {
    const typed = { kind: "email", config: { value: "ops@example.org", down: true } };
    expect(addressWarnings(typed, REACH)).toEqual([]);
    expect(addressWarnings(typed, { ...REACH, sendsMail: false })).toEqual([
      { field: "value", text: expect.stringContaining("OVERDUE_SMTP_HOST") },
    ]);
    const webhook = { kind: "webhook", config: { url_down: "https://example.org", value: "x" } };
    expect(addressWarnings(webhook, { ...REACH, sendsMail: false })).toEqual([]);
  });

  test("names its field, and an unknown kind has none", () => {
    const config = { url_down: "http://10.0.0.1/", url_up: "https://example.org", url_notice: "localhost" };
    const fields = addressWarnings({ kind: "webhook", config }, REACH);
    expect(fields.map(({ field }) => field)).toEqual(["url_down", "url_notice"]);
    expect(addressWarnings({ kind: "nothing", config }, REACH)).toEqual([]);
  });
});
