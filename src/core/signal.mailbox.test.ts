// Which email addresses name a check, and which cannot.
import { describe, expect, test } from "vitest";
import { mailboxTarget } from "./signal.ts";

const UUID = "5a1f8c1e-9c3b-4d57-8a11-0e9b3f6c2d48";
const KEY = "abcdefghij0123456789xy";

describe("A mailbox", () => {
  test("is a UUID of version 4 in either letter case", () => {
    const target = { by: "uuid", uuid: UUID };
    expect(mailboxTarget(UUID)).toEqual(target);
    expect(mailboxTarget(UUID.toUpperCase())).toEqual(target);
  });

  test("is a ping key and a slug with a plus between them", () => {
    expect(mailboxTarget(`${KEY}+my-job_2`)).toEqual({ by: "slug", pingKey: KEY, slug: "my-job_2" });
    expect(mailboxTarget(`${KEY}+${"s".repeat(100)}`)).not.toBeNull();
  });

  test.each([
    ["no name at all", ""],
    ["any other name", "postmaster"],
    ["a UUID without hyphens", UUID.replaceAll("-", "")],
    ["a UUID of another version", "00000000-0000-1000-8000-000000000000"],
    ["a ping key alone", KEY],
    ["a short ping key", "short+slug"],
    ["a ping key with a strange character", `${KEY.slice(1)}!+slug`],
    ["a ping key without a slug", `${KEY}+`],
    ["a slug with capitals", `${KEY}+Slug`],
    ["a slug with a second plus", `${KEY}+a+b`],
    ["a slug that no check can have", `${KEY}+${"s".repeat(101)}`],
  ])("is not %s", (_what, localPart) => {
    expect(mailboxTarget(localPart)).toBeNull();
  });
});
