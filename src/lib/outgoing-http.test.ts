// Which addresses may be connected to, according to the reserved ranges of the registries.
import { describe, expect, test } from "vitest";
import { isAllowedAddress, refusalOfUrl } from "./outgoing-http.ts";

const CLOSED = { allowPrivate: false };
const OPEN = { allowPrivate: true };

describe("an address", () => {
  test.each(["93.184.216.34", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8"])(
    "%s is public",
    (address) => {
      expect(isAllowedAddress(address, CLOSED)).toBe(true);
    },
  );

  test.each(["127.0.0.1", "10.1.2.3", "192.168.0.1", "172.20.0.1", "100.64.0.1", "::1", "fd12::1"])(
    "%s is on a private network",
    (address) => {
      expect(isAllowedAddress(address, CLOSED)).toBe(false);
      expect(isAllowedAddress(address, OPEN)).toBe(true);
    },
  );

  test.each([
    "0.0.0.0",
    "::",
    "169.254.169.254",
    "169.254.42.42",
    "168.63.129.16",
    "100.100.100.200",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fd00:42::42",
    "::ffff:168.63.129.16",
    "fe80::1",
    "224.0.0.1",
    "255.255.255.255",
    "::127.0.0.1",
    "::8.8.8.8",
    "0:0:0:0:0:0:8.8.8.8",
    "2002:7f00:1::",
    "2001:0:7f00:1::",
    "",
    "example.com",
    "999.1.1.1",
  ])("%s is always blocked, whatever the settings", (address) => {
    expect(isAllowedAddress(address, CLOSED)).toBe(false);
    expect(isAllowedAddress(address, OPEN)).toBe(false);
  });

  test("translated from IPv4, it is checked as the IPv4 address, and never reaches internal hosts", () => {
    expect(isAllowedAddress("64:ff9b::93.184.216.34", CLOSED)).toBe(true);
    for (const inside of ["127.0.0.1", "10.0.0.1", "169.254.169.254", "168.63.129.16", "0.0.0.0"]) {
      expect(isAllowedAddress(`64:ff9b::${inside}`, CLOSED)).toBe(false);
      expect(isAllowedAddress(`64:ff9b::${inside}`, OPEN)).toBe(false);
    }
    // A site-specific prefix says nothing about the target behind it.
    expect(isAllowedAddress("64:ff9b:1::93.184.216.34", OPEN)).toBe(false);
  });
});

test("a URL is checked by its scheme, its login, its port and its address", () => {
  const refusal = (url: string) => refusalOfUrl(new URL(url), CLOSED);
  expect(refusal("https://example.com/")).toBeNull();
  expect(refusal("http://example.com:8080/")).toBeNull();
  expect(refusal("ftp://example.com/")).toMatch(/Only http/);
  expect(refusal("https://a:b@example.com/")).toMatch(/Redirects to URLs/);
  expect(refusal("https://example.com:6379/")).toMatch(/This port/);
  expect(refusal("https://0x7f.1/")).toMatch(/private IP/);
});
