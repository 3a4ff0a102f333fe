// The rules of `overdue doctor` that need no broken server.
import { describe, expect, test } from "vitest";
import {
  addressFindings,
  clockFinding,
  connectionsFinding,
  diskFindings,
  nodeFinding,
  problemOf,
  secretFindings,
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

describe("the secret keys", () => {
  const none = { previous: 0, neither: 0 };
  const counts = { apiKeys: none, accessTokens: none, authenticators: none, recoveryCodes: none };
  const sound = { previous: "none", isShort: false, counts } as const;

  test("a server that never had another key has no findings", () => {
    expect(secretFindings(sound)).toEqual([]);
  });

  test("what needs the previous key is counted, until nothing does", () => {
    const some = {
      ...counts,
      apiKeys: { previous: 2, neither: 0 },
      recoveryCodes: { previous: 1, neither: 0 },
    };
    const [found] = secretFindings({ ...sound, previous: "other", counts: some });
    expect(found).toMatchObject({
      level: "ok",
      text: "OVERDUE_SECRET_KEY_PREVIOUS is needed for 2 API keys, 1 recovery code.",
    });
    expect(found?.fix).toMatch(/^Remove it when this is 0\./);
    expect(secretFindings({ ...sound, previous: "other" })[0]?.text).toMatch(/^No stored key needs/);
  });

  test("a useless, a weak and a lost key are warnings", () => {
    expect(levels(secretFindings({ ...sound, previous: "same" }))).toEqual(["warning"]);
    expect(levels(secretFindings({ ...sound, previous: "other", isShort: true }))).toEqual(["ok", "warning"]);
    const lost = { ...counts, accessTokens: { previous: 0, neither: 3 } };
    const found = secretFindings({ ...sound, counts: lost });
    expect(levels(found)).toEqual(["warning"]);
    expect(found[0]?.text).toContain("3 access tokens");
  });
});
