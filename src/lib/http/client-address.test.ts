// From which peers forwarding headers are trusted, and how they are parsed.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clientAddressReader, networkOf, networkReader } from "./client-address.ts";

const PROXY = "10.1.2.3";
const LIMITS = { schemeLengthMax: 10 };
const clientOf = clientAddressReader(
  ["127.0.0.0/8", "::1/128", "10.0.0.0/8", "192.0.2.7", "fd00::/8"],
  LIMITS,
);

const ask = (
  peer: string | undefined,
  forwardedFor?: string | string[],
  forwardedProto?: string | string[],
) => clientOf({ peer, forwardedFor, forwardedProto });

describe("without a trusted proxy", () => {
  test.each([
    ["203.0.113.9", "203.0.113.9"],
    ["::ffff:203.0.113.9", "203.0.113.9"],
    ["2001:db8::1", "2001:db8::1"],
    ["fe80::1%eth0", "fe80::1"],
    ["::ffff:7b7b:7b7b", "::ffff:7b7b:7b7b"],
    [undefined, null],
  ])("the peer %s is the client %s, by http", (peer, remoteAddr) => {
    expect(ask(peer)).toEqual({ remoteAddr, scheme: "http" });
  });

  test.each(["203.0.113.9", "::ffff:203.0.113.9", "2001:db8::1", "11.0.0.1", "192.0.2.8", "fe80::1%eth0"])(
    "headers from %s are ignored",
    (peer) => {
      expect(ask(peer, "1.2.3.4", "https")).toEqual(ask(peer));
    },
  );

  test("headers on a connection whose peer is gone are ignored", () => {
    expect(ask(undefined, "1.2.3.4", "https")).toEqual({ remoteAddr: null, scheme: "http" });
  });

  test("with an empty list no peer is trusted, not even this machine", () => {
    const nobody = clientAddressReader([], LIMITS);
    const forwarding = { peer: "127.0.0.1", forwardedFor: "1.2.3.4", forwardedProto: "https" };
    expect(nobody(forwarding)).toEqual({ remoteAddr: "127.0.0.1", scheme: "http" });
  });
});

describe("behind a trusted proxy", () => {
  test.each([PROXY, "::ffff:10.1.2.3", "127.0.0.1", "::1", "192.0.2.7", "fd12::1", "fd12::1%eth0"])(
    "the headers of %s are trusted",
    (peer) => {
      expect(ask(peer, "1.2.3.4", "https")).toEqual({ remoteAddr: "1.2.3.4", scheme: "https" });
    },
  );

  test.each([
    ["1.2.3.4", "1.2.3.4"],
    [" 1.2.3.4 ", "1.2.3.4"],
    ["5.6.7.8, 1.1.1.1", "5.6.7.8"],
    ["5.6.7.8,1.1.1.1", "5.6.7.8"],
    [["5.6.7.8", "1.1.1.1"], "5.6.7.8"],
    ["9.9.9.9:1234", "9.9.9.9"],
    ["2001:DB8::0001", "2001:db8::1"],
    ["2001:0DB8:0:0:0:0:0:1", "2001:db8::1"],
    ["::ffff:1.1.1.1", "::ffff:1.1.1.1"],
    ["fe80::1%eth0", "fe80::1"],
    ["[2001:DB8::1]:443", "2001:db8::1"],
    ["[2001:db8::1]", "2001:db8::1"],
    ["[fe80::1%eth0]:80", "fe80::1"],
  ])("%j names %s", (forwardedFor, remoteAddr) => {
    expect(ask(PROXY, forwardedFor).remoteAddr).toBe(remoteAddr);
  });

  test.each([
    "unknown",
    "_hidden",
    "1.2.3",
    "1.2.3.4.5",
    "256.1.1.1",
    "999.1.1.1:80",
    "1.2.3.4:",
    "1.2.3.4:123456",
    "1.2.3.4%eth0",
    "1.2.3.4; drop",
    "[1.2.3.4]:80",
    "[]",
    "[::1",
    "::g",
    "localhost",
    "01.2.3.4",
    "x".repeat(5_000),
  ])("%j is not an address: none is returned, not even the proxy's", (forwardedFor) => {
    expect(ask(PROXY, forwardedFor).remoteAddr).toBeNull();
  });

  test("an empty header, or an empty first item, is ignored, so the peer is the client", () => {
    expect(ask(PROXY, "", "")).toEqual({ remoteAddr: PROXY, scheme: "http" });
    expect(ask(PROXY, ", 1.2.3.4", ",https")).toEqual({ remoteAddr: PROXY, scheme: "http" });
  });

  test("a proxy that only sends the scheme leaves the peer as the client", () => {
    expect(ask(PROXY, undefined, "https")).toEqual({ remoteAddr: PROXY, scheme: "https" });
  });

  test.each([
    ["https", "https"],
    ["HTTPS", "https"],
    ["https, http", "https"],
    ["wss", "wss"],
    ["averylongscheme", "http"],
    ["abcdefghij", "abcdefghij"],
    ["abcdefghijk", "http"],
    ["no scheme", "http"],
    ["<b>", "http"],
    ["1", "http"],
  ])("the scheme %j is %s", (forwardedProto, scheme) => {
    expect(ask(PROXY, "1.2.3.4", forwardedProto)).toEqual({ remoteAddr: "1.2.3.4", scheme });
  });
});

test("the trust decision does not depend on earlier peers, however many there were", () => {
  for (let n = 0; n < 2_500; n += 1) {
    const peer = `203.0.${n >> 8}.${n & 255}`;
    expect(ask(peer, "1.2.3.4").remoteAddr).toBe(peer);
  }
  expect(ask(PROXY, "1.2.3.4").remoteAddr).toBe("1.2.3.4");
});

test("any address that a proxy names is normalized to an equivalent one", () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
      const { remoteAddr } = ask(PROXY, address);
      expect(remoteAddr).not.toBeNull();
      expect(ask(PROXY, remoteAddr ?? "").remoteAddr).toBe(remoteAddr);
      expect(remoteAddr).toBe(remoteAddr?.toLowerCase());
    }),
  );
});

test("no text makes it throw, and the result can be stored", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (forwardedFor, forwardedProto) => {
      const { remoteAddr, scheme } = ask(PROXY, forwardedFor, forwardedProto);
      if (remoteAddr !== null) expect(remoteAddr).toMatch(/^[0-9a-f.:]{2,45}$/);
      expect(scheme).toMatch(/^[a-z0-9+.-]{1,10}$/);
    }),
  );
});

test.each([
  ["192.0.2.7", "192.0.2.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::6", "2001:db8:1:2::/64"],
  ["2001:DB8:0001:2::", "2001:db8:1:2::/64"],
  ["2001:db8::6", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
])("%s belongs to the network %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});

describe("the network that requests are counted by", () => {
  const networkAt = networkReader(["127.0.0.0/8", "::1/128", "10.0.0.0/8"]);

  test.each([
    ["203.0.113.9", undefined, "203.0.113.9"],
    ["203.0.113.9", "1.2.3.4", "203.0.113.9"],
    [PROXY, undefined, PROXY],
    [PROXY, "1.2.3.4", "1.2.3.4"],
    [PROXY, "forged, 1.2.3.4", "1.2.3.4"],
    [PROXY, "9.9.9.9, 1.2.3.4, 10.9.9.9", "1.2.3.4"],
    [PROXY, ["9.9.9.9", "2001:db8:1:2:3::4"], "2001:db8:1:2::/64"],
    [PROXY, "1.2.3.4, nonsense", ""],
    [PROXY, "10.0.0.1, 10.0.0.2", "10.0.0.1"],
    [undefined, "1.2.3.4", ""],
  ])(
    "peer %s that forwards %j is %s: addresses written by the sender do not count",
    (peer, forwardedFor, network) => {
      expect(networkAt({ peer, forwardedFor })).toBe(network);
    },
  );
});
