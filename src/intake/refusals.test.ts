import { describe, expect, test } from "vitest";
import { AttributedRefusalSet } from "./refusals.ts";

const AT = Date.UTC(2026, 10, 16);
const target = (uuid: string) => ({ by: "uuid", uuid }) as const;
const NO_REFUSALS = { targets: [], networks: [] };

function refusals() {
  const set = new AttributedRefusalSet();
  const unknown = (uuid: string, network: string | null, at = AT) =>
    set.note({ at, target: target(uuid), network, isKnown: false });
  return { set, unknown };
}

describe("refusals of single pings", () => {
  test("of one target are one stretch", () => {
    const { set, unknown } = refusals();
    unknown("a", "192.0.2.1", AT + 5);
    unknown("a", "192.0.2.1", AT);
    unknown("a", "192.0.2.1", AT + 9);
    expect(set.pending()).toEqual({ targets: [{ target: target("a"), from: AT, to: AT + 9 }], networks: [] });
    expect(set.count).toBe(3);
  });

  test("are kept until they are stored, and longer if they went on since then", () => {
    const { set, unknown } = refusals();
    unknown("a", "192.0.2.1");
    unknown("b", "192.0.2.1");
    const stored = set.pending();
    unknown("b", "192.0.2.1", AT + 1);
    set.markStored(stored);
    expect(set.pending().targets).toEqual([{ target: target("b"), from: AT, to: AT + 1 }]);
    set.markStored(set.pending());
    expect(set.pending()).toEqual(NO_REFUSALS);
  });

  test("for more unknown targets than a network may name are noted by that network", () => {
    const { set, unknown } = refusals();
    for (let n = 0; n < 10_000; n += 1) unknown(`stranger ${n}`, "192.0.2.1");
    unknown("job", "198.51.100.1");
    const { targets, networks } = set.pending();
    expect(targets).toHaveLength(101);
    expect(targets.at(-1)?.target).toEqual(target("job"));
    expect(networks).toEqual([{ network: "192.0.2.1", from: AT, to: AT }]);
  });

  test("for known checks have no such quota", () => {
    const { set } = refusals();
    for (let n = 0; n < 1_000; n += 1) {
      set.note({ at: AT, target: target(`${n}`), network: "192.0.2.1", isKnown: true });
    }
    expect(set.pending().targets).toHaveLength(1_000);
  });

  test("are stored in parts, oldest first, and it is known since when there are more", () => {
    const { set } = refusals();
    const note = (n: number) =>
      set.note({ at: AT + n, target: target(`${n}`), network: "192.0.2.1", isKnown: true });
    for (let n = 0; n < 2_000; n += 1) note(n);
    expect(set.restSinceAt()).toBeNull();
    for (let n = 2_000; n < 5_000; n += 1) note(n);
    const first = set.pending();
    expect([first.targets.length, first.targets[0]?.from, set.restSinceAt()]).toEqual([
      2_000,
      AT,
      AT + 2_000,
    ]);
    set.markStored(first);
    expect([set.pending().targets[0]?.from, set.restSinceAt()]).toEqual([AT + 2_000, AT + 4_000]);
  });

  test("do not renew the quota of unknown targets before they are stored", () => {
    const { set, unknown } = refusals();
    for (let n = 0; n < 2_100; n += 1)
      set.note({ at: AT, target: target(`${n}`), network: "192.0.2.1", isKnown: true });
    for (let n = 0; n < 200; n += 1) unknown(`a ${n}`, "192.0.2.2");
    set.markStored({ ...set.pending(), targets: set.pending().targets.slice(0, 10) });
    for (let n = 0; n < 200; n += 1) unknown(`b ${n}`, "192.0.2.2");
    expect(set.restSinceAt()).not.toBeNull();
    set.markStored(set.pending());
    expect(set.pending().targets).toHaveLength(190);
  });

  test("from many networks are noted by the blocks that these are part of, and never by every check", () => {
    const { set, unknown } = refusals();
    for (let n = 0; n < 70_000; n += 1) {
      expect(unknown(`stranger ${n}`, `2001:db8:${n.toString(16)}:0::/64`)).toBe(true);
    }
    const { networks } = set.pending();
    expect(networks).toHaveLength(1_001);
    expect(networks.at(-1)).toMatchObject({ network: "2001:db8::/32" });
    const parts: number[] = [];
    for (let part = set.pending(); part.targets.length > 0; part = set.pending()) {
      parts.push(part.targets.length);
      set.markStored(part);
    }
    expect(parts).toEqual([2_000, 2_000, 1_000]);
    expect(set.pending()).toEqual(NO_REFUSALS);
  });

  test("of a sender without an address excuse no one beyond the targets that it may name", () => {
    const { set, unknown } = refusals();
    for (let n = 0; n < 1_000; n += 1) expect(unknown(`stranger ${n}`, null)).toBe(true);
    expect(set.pending().targets).toHaveLength(100);
    expect(set.pending().networks).toEqual([]);
  });

  test("of which nothing is known may be for any check", () => {
    const { set } = refusals();
    expect(set.note({ at: AT, target: null, network: null, isKnown: false })).toBe(false);
    expect(set.note({ at: AT, target: null, network: "", isKnown: false })).toBe(false);
    expect(set.count).toBe(0);
  });
});
