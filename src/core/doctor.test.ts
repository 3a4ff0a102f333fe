// The rules of `overdue doctor` that need no broken server.
import { describe, expect, test } from "vitest";
import {
  addressFindings,
  clockFinding,
  connectionsFinding,
  diskFindings,
  nodeFinding,
  problemOf,
  type ServerFacts,
  serverFindings,
  siteUrlFindings,
} from "./doctor.ts";

const SOUND: ServerFacts = {
  version: 180_001,
  encoding: "UTF8",
  fsync: "on",
  synchronousCommit: "on",
  fullPageWrites: "on",
  isReadOnly: false,
  isStandby: false,
  connectionsMax: 97,
  foreignConnections: 5,
};
const levels = (findings: { level: string }[]) => findings.map(({ level }) => level);

describe("the database server", () => {
  test.each([
    [{}, ["ok"]],
    [{ version: 140_012 }, ["problem"]],
    [{ version: 150_000 }, ["ok"]],
    [{ version: 190_000 }, ["warning"]],
    [{ fullPageWrites: "off" }, ["warning"]],
    [{ fsync: "off", synchronousCommit: "off" }, ["problem", "problem"]],
    [{ synchronousCommit: "remote_apply" }, ["ok"]],
    [{ isReadOnly: true, isStandby: true }, ["problem"]],
  ])("%j", (changes, expected) => {
    expect(levels(serverFindings({ ...SOUND, ...changes }))).toEqual(expected);
  });

  test.each([
    [21, 97, 5, "ok"],
    [21, 97, 80, "warning"],
    [21, 20, 0, "problem"],
  ])("%i connections of %i with %i of others: %s", (needed, connectionsMax, foreignConnections, level) => {
    expect(connectionsFinding({ ...SOUND, connectionsMax, foreignConnections }, { needed }).level).toBe(
      level,
    );
  });

  test.each([
    [0, 5, "ok"],
    [4_900, 0, "ok"],
    [-6_000, 0, "warning"],
    [6_000, 2_000, "ok"],
    [61_000, 500, "problem"],
  ])("a clock that is off by %i ms, measured within %i ms: %s", (aheadMs, toleranceMs, level) => {
    expect(clockFinding({ aheadMs, toleranceMs }).level).toBe(level);
  });

  test("the direction of the difference is named from this machine's side", () => {
    expect(clockFinding({ aheadMs: 90_000, toleranceMs: 1 }).text).toContain("is 90 s behind the clock");
    expect(clockFinding({ aheadMs: -90_000, toleranceMs: 1 }).text).toContain("is 90 s ahead of the clock");
  });
});

describe("this machine", () => {
  test.each([
    ["24.18.0", "ok"],
    ["26.1.0", "ok"],
    ["24.17.9", "problem"],
    ["20.19.2", "problem"],
  ])("Node %s: %s", (version, level) => {
    expect(nodeFinding(version).level).toBe(level);
  });

  const GIB = 1024 ** 3;
  test.each([
    ["ext4 with space", 0xef53, 9 * GIB, []],
    ["ext4, nearly full", 0xef53, GIB / 2, ["warning"]],
    ["ext4, full", 0xef53, 1_000, ["problem"]],
    ["tmpfs", 0x01021994, 9 * GIB, ["problem"]],
    ["NFS", 0x6969, 9 * GIB, ["warning"]],
    ["a container without a volume", 0x794c7630, 9 * GIB, ["warning"]],
  ])("a spool on %s", (_name, fileSystem, freeBytes, expected) => {
    const disk = { folder: "/var/lib/overdue", fileSystem, freeBytes, bytesMax: GIB };
    expect(levels(diskFindings(disk))).toEqual(expected);
  });
});

describe("the public URL", () => {
  test.each([
    ["https://overdue.example.org", []],
    ["https://localhost:8443", []],
    ["http://overdue.example.org", ["warning"]],
    ["http://localhost:8000", ["warning"]],
  ])("%s", (url, expected) => {
    expect(levels(siteUrlFindings(url))).toEqual(expected);
  });

  const PROBLEM = { text: "Something.", advice: "Do something." };
  test.each([
    [true, true, [], "ok"],
    [true, true, [PROBLEM], "warning"],
    // A process without the dashboard.
    [true, false, [PROBLEM], "ok"],
    [false, true, [], "problem"],
    [false, false, [PROBLEM], "problem"],
    [false, false, [], "problem"],
    [null, true, [], "ok"],
    [null, false, [PROBLEM], "problem"],
  ])("this server: %s, Overdue: %s, %j: %s", (isThisServer, isOverdue, problems, level) => {
    const facts = { isThisServer, isOverdue, problems };
    expect(levels(addressFindings("https://example.org", facts))).toEqual([level]);
  });
});

test("a message is divided after its first sentence", () => {
  const both = problemOf("schema", "It is 1.5 MB too large. Make it smaller. Then retry.", "otherwise");
  expect(both).toMatchObject({ text: "It is 1.5 MB too large.", fix: "Make it smaller. Then retry." });
  expect(problemOf("schema", "It is too large", "otherwise").fix).toBe("otherwise");
});
