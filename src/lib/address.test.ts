// Which texts are addresses, and which are not.
import { describe, expect, test } from "vitest";
import { formatListenAddress, isAddressRange, parseListenAddress } from "./address.ts";

describe("a listen address", () => {
  test.each([
    ["127.0.0.1:9464", { host: "127.0.0.1", port: 9464 }],
    ["[::1]:0", { host: "::1", port: 0 }],
    ["localhost:65535", { host: "localhost", port: 65_535 }],
    [":8000", { host: "::", port: 8000 }],
  ])("%s is accepted", (text, address) => {
    expect(parseListenAddress(text)).toEqual(address);
  });

  test.each([
    "",
    "8000",
    "localhost",
    "localhost:",
    "localhost:65536",
    "::1:80",
    "[::1]",
    "[10.0.0.1]:80",
    "a b:80",
  ])("%j is rejected", (text) => {
    expect(parseListenAddress(text)).toBeNull();
  });

  test("is printed as it was written", () => {
    for (const text of ["127.0.0.1:9464", "[::1]:80"]) {
      const address = parseListenAddress(text);
      expect(address && formatListenAddress(address)).toBe(text);
    }
  });
});

describe("a range of addresses", () => {
  test.each(["127.0.0.1", "10.0.0.0/8", "0.0.0.0/0", "::1", "fd00::/8", "::/0", "::ffff:10.0.0.1/128"])(
    "%s is one",
    (text) => {
      expect(isAddressRange(text)).toBe(true);
    },
  );

  test.each([
    "",
    "10.0.0.0/33",
    "::/129",
    "10.0.0/8",
    "proxy.local",
    "10.0.0.0/",
    "10.0.0.0/8/8",
    "fe80::1%eth0",
    "10.0.0.0/-1",
  ])("%j is not a range", (text) => {
    expect(isAddressRange(text)).toBe(false);
  });
});
