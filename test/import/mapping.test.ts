import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CONFIG_RULES } from "../../src/channels/registry.ts";
import {
  pingedCheck,
  sourceAccount,
  sourceChannel,
  sourceCheck,
  sourcePing,
  sourceProject,
  uuidOf,
} from "./memory-source.ts";
import {
  canonicalText,
  type Finding,
  fingerprintOf,
  isNewPing,
  isProjectChosen,
  isSourceNewer,
  mapAccounts,
  mapChannels,
  mapCheck,
  mapFlips,
  mapProject,
  mapState,
  mapStatus,
  NO_HISTORY,
  readHistory,
  statusDifference,
} from "../../src/core/import.ts";
import type { SourceCheck } from "../../src/core/import-source.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../src/core/instant.ts";
import { downAtOf } from "../../src/core/state.ts";

const NOON = Date.UTC(2026, 10, 16, 12);
const ARGON2 =
  "argon2$argon2id$v=19$m=1024,t=2,p=1$Zml4dHVyZS1zYWx0LTAxNg$GJKQwGKHtz+yO4gclRtpC032vnKIo6QFEeSvzftTaN8";
const RULES = { isUsableHash: (hash: string) => hash.startsWith("$argon2id$"), limits: false };

function noted<T>(work: (note: (finding: Finding) => void) => T): { value: T; findings: Finding[] } {
  const findings: Finding[] = [];
  return { value: work((finding) => findings.push(finding)), findings };
}

describe("An account", () => {
  test("keeps an Argon2 password without the name of the algorithm", () => {
    const { value, findings } = noted((note) =>
      mapAccounts([sourceAccount("A@Example.org", { passwordHash: ARGON2 })], RULES, note),
    );
    expect(value).toMatchObject([
      { email: "a@example.org", passwordHash: ARGON2.slice(6), checkLimit: null },
    ]);
    expect(findings).toEqual([]);
  });

  test.each(["pbkdf2_sha256$1$a$b", "argon2$argon2i$v=19$m=8,t=1,p=1$a$b", "!unusable"])(
    "with the password %s signs in by link",
    (passwordHash) => {
      const { value, findings } = noted((note) =>
        mapAccounts([sourceAccount("a@example.org", { passwordHash })], RULES, note),
      );
      expect(value[0]?.passwordHash).toBeNull();
      expect(findings).toMatchObject([{ level: "adapted", kind: "account" }]);
    },
  );

  test("whose address differs from another one in letter case only is reported", () => {
    const { value, findings } = noted((note) =>
      mapAccounts([sourceAccount("a@example.org"), sourceAccount("A@example.org")], RULES, note),
    );
    expect(value).toHaveLength(1);
    expect(findings).toMatchObject([{ level: "impossible", name: "A@example.org" }]);
  });

  test("has its limits only if they are asked for, and its preferences", () => {
    const account = sourceAccount("a@example.org", { reports: "weekly", nagPeriodS: 3_600, tz: "Mars/Base" });
    const { value } = noted((note) => mapAccounts([account], { ...RULES, limits: true }, note));
    expect(value).toMatchObject([
      {
        checkLimit: 20,
        pingLogLimit: 100,
        preferences: { tz: null, reports: "weekly", reminders: "hourly" },
      },
    ]);
  });
});

describe("A project", () => {
  test("has hashed and plain keys, roles, and a name", () => {
    const digestHex = "ab".repeat(32);
    const text = "0123456789abcdefghijABCDEFGHIJ_-";
    const { value, findings } = noted((note) =>
      mapProject(
        sourceProject(1, {
          name: " ",
          keys: { readWrite: { prefix: "AbCdEfGh", digestHex }, readOnly: { text } },
          members: [
            { email: "M@example.org", role: "m" },
            { email: "r@example.org", role: "r" },
            { email: "x@example.org", role: "?" },
          ],
        }),
        note,
      ),
    );
    expect(value.keys).toEqual([
      { kind: "readWrite", prefix: "hcw_AbCdEfGh", stored: { digestHex } },
      { kind: "readOnly", prefix: text.slice(0, 12), stored: { text } },
    ]);
    expect(value.members).toEqual([
      { email: "m@example.org", role: "manager" },
      { email: "r@example.org", role: "readOnly" },
      { email: "x@example.org", role: "readOnly" },
    ]);
    expect(value.name).toBe("Unnamed project");
    expect(findings.map(({ kind }) => kind)).toEqual(["project", "member"]);
  });

  test.each([
    [[], true],
    [["Project 1"], true],
    [[uuidOf(1, 3).toUpperCase()], true],
    [["Other"], false],
  ])("is chosen by %j: %s", (chosen, expected) => {
    expect(isProjectChosen(sourceProject(1), chosen)).toBe(expected);
  });
});

describe("Channels", () => {
  test("keep their UUID, and a confirmed address stays confirmed", () => {
    const email = sourceChannel(1, { kind: "email", value: "a@example.org", isEmailVerified: true });
    const { value, findings } = noted((note) => mapChannels([email], CONFIG_RULES, note));
    expect(value).toMatchObject([{ uuid: email.uuid, verifiedAddress: "a@example.org" }]);
    expect(findings).toEqual([]);
  });

  test("in a group lose members that cannot be taken, and an empty group is not taken", () => {
    const channels = [
      sourceChannel(1),
      sourceChannel(2, { kind: "shell" }),
      sourceChannel(3, { kind: "group", value: `${uuidOf(1, 2)},${uuidOf(2, 2)}` }),
      sourceChannel(4, { kind: "group", value: uuidOf(2, 2) }),
    ];
    const { value, findings } = noted((note) => mapChannels(channels, CONFIG_RULES, note));
    expect(value.map(({ uuid }) => uuid)).toEqual([uuidOf(1, 2), uuidOf(3, 2)]);
    expect(value[1]?.config).toEqual({ members: [uuidOf(1, 2)] });
    expect(findings.map(({ level }) => level)).toEqual(["impossible", "adapted", "impossible"]);
  });
});

describe("A check", () => {
  test("is taken one to one", () => {
    const { value, findings } = noted((note) =>
      mapCheck(sourceCheck(1, { kind: "cron", schedule: "*/5 * * * *", tz: "Europe/Riga" }), note),
    );
    expect(value).toMatchObject({
      uuid: uuidOf(1),
      badgeUuid: uuidOf(1, 4),
      settings: {
        kind: "cron",
        schedule: "*/5 * * * *",
        tz: "Europe/Riga",
        timeoutSeconds: 3_600,
        rules: null,
      },
    });
    expect(findings).toEqual([]);
  });

  test.each([
    [{ kind: "cron", schedule: "every day" }, "impossible"],
    [{ kind: "oncalendar", schedule: "*/5 * * * *" }, "impossible"],
    [{ kind: "cron", tz: "Mars/Base" }, "impossible"],
    [{ uuid: "x" }, "impossible"],
    [{ name: "x".repeat(101) }, "adapted"],
    [{ timeoutS: 30 }, "adapted"],
    [{ slug: "Ünï x" }, "adapted"],
    [{ badgeKey: null }, "adapted"],
    [{ methods: "GET" }, "adapted"],
  ] as [Partial<SourceCheck>, Finding["level"]][])("with %j is %s", (more, level) => {
    const { value, findings } = noted((note) => mapCheck(sourceCheck(1, more), note));
    expect(findings).toMatchObject([{ level, kind: "check" }]);
    expect(value === null).toBe(level === "impossible");
  });

  test("with any text is valid or reported, and never throws", () => {
    const text = fc.string({ unit: "binary", maxLength: 700 });
    fc.assert(
      fc.property(text, text, text, fc.integer(), (name, slug, schedule, timeoutS) => {
        const check = sourceCheck(1, { name, slug, tags: name, desc: name, schedule, timeoutS });
        const { value } = noted((note) => mapCheck(check, note));
        const { settings } = value ?? {};
        if (settings === undefined) return;
        expect(settings.name.isWellFormed() && !settings.name.includes("\0")).toBe(true);
        expect(Array.from(settings.name).length).toBeLessThanOrEqual(100);
        expect(settings.slug).toMatch(/^[a-z0-9_-]{0,100}$/);
        expect(settings.timeoutSeconds).toBeGreaterThanOrEqual(60);
      }),
    );
  });

  test("has the same fingerprint whatever the order of fields and channels", () => {
    const settings = mapCheck(sourceCheck(1), () => {})?.settings;
    if (settings === undefined) throw new Error("not mapped");
    const turned = Object.fromEntries(Object.entries(settings).toReversed()) as typeof settings;
    expect(fingerprintOf(turned, ["b", "a"])).toBe(fingerprintOf({ ...settings, rules: null }, ["a", "b"]));
    expect(canonicalText({ b: [{ d: 1, c: 2 }], a: null })).toBe('{"a":null,"b":[{"c":2,"d":1}]}');
  });
});

describe("The history of a check", () => {
  test("pairs starts and ends by run id, counts days, and remembers ended runs", () => {
    const reader = readHistory(NO_HISTORY, null);
    const rid = uuidOf(9);
    const pings = [
      sourcePing(1, NOON - 26 * HOUR_MS, { kind: "start", rid }),
      sourcePing(2, NOON - 26 * HOUR_MS + MINUTE_MS, { kind: "", rid }),
      sourcePing(3, NOON, { kind: "fail", exitStatus: 3 }),
      sourcePing(4, NOON + SECOND_MS, { kind: "log", exitStatus: 999 }),
    ].map((ping) => reader.add(ping));
    expect(pings.map((ping) => [ping?.kind, ping?.durationMs, ping?.exitStatus])).toEqual([
      ["start", null, null],
      ["success", MINUTE_MS, null],
      ["fail", null, 3],
      ["log", null, null],
    ]);
    expect(reader.history()).toMatchObject({ lastN: 4, lastSuccessN: 2, endedRids: [rid] });
    expect(reader.history().today).toMatchObject({ day: "2026-11-16", failCount: 1, successCount: 0 });
    expect(reader.settled()).toMatchObject([
      { day: "2026-11-15", successCount: 1, durationSumMs: MINUTE_MS },
    ]);
    expect(reader.add(sourcePing(4, NOON))).toBeNull();
  });

  test("has flips to up and down; pauses and resumes are events", () => {
    const changes = mapFlips(
      [
        { at: NOON + 3, from: "paused", to: "new", reason: "" },
        { at: NOON, from: "new", to: "up", reason: "" },
        { at: NOON + 1, from: "up", to: "down", reason: "fail" },
        { at: NOON + 2, from: "down", to: "paused", reason: "" },
      ],
      [],
    );
    expect(changes).toEqual([
      { kind: "flip", flip: { at: NOON, from: "new", to: "up", reason: "success" } },
      { kind: "flip", flip: { at: NOON + 1, from: "up", to: "down", reason: "fail" } },
      { kind: "event", at: NOON + 2, event: "paused", from: "down" },
      { kind: "event", at: NOON + 3, event: "resumed", from: "paused" },
    ]);
  });

  test("has the reason of a flip from the log if the source tells none", () => {
    const down = [{ at: NOON, from: "", to: "down", reason: "" }];
    const reasonOf = (fails: number[]) => {
      const [change] = mapFlips(down, fails);
      return change?.kind === "flip" ? change.flip.reason : null;
    };
    expect([reasonOf([NOON + 500]), reasonOf([])]).toEqual(["fail", "timeout"]);
  });

  test("gives a state whose deadline follows from our rules", () => {
    const { check } = pingedCheck(1, { now: NOON, count: 3, agoMs: 0 });
    const state = mapState({ ...check, status: "grace" }, { history: NO_HISTORY, changes: [] });
    const timing = mapCheck(check, () => {})?.settings;
    if (timing === undefined) throw new Error("not mapped");
    expect(state).toMatchObject({ status: "up", lastPingAt: NOON, pingCount: 3, missed: null });
    expect(downAtOf({ timing, state })).toBe(NOON + HOUR_MS + 10 * MINUTE_MS);
  });

  test("of a check that missed its deadline can be taken back", () => {
    const { check } = pingedCheck(1, { now: NOON, count: 1 });
    const changes = mapFlips([{ at: NOON, from: "up", to: "down", reason: "timeout" }], []);
    const state = mapState({ ...check, status: "down" }, { history: NO_HISTORY, changes });
    expect(state.missed).toEqual({ deadlineAt: NOON, from: "up" });
  });

  test("leaves out a stale run id", () => {
    const check = sourceCheck(1, { lastStartRid: uuidOf(9), lastStartAt: null });
    expect(mapState(check, { history: NO_HISTORY, changes: [] }).lastStartRid).toBeNull();
  });
});

describe("A repeated import", () => {
  const known = { importedCount: 5, pingCount: 5, newestAt: NOON };

  test("takes pings with higher numbers, and the state of the source", () => {
    expect(isNewPing({ number: 5, at: NOON + HOUR_MS }, known)).toBe(false);
    expect(isNewPing({ number: 6, at: NOON + 1 }, known)).toBe(true);
    expect(isSourceNewer(sourceCheck(1), known)).toBe(true);
  });

  test("does not take pings that were mirrored", () => {
    const mirrored = { ...known, pingCount: 6 };
    expect(isNewPing({ number: 7, at: NOON + SECOND_MS }, mirrored)).toBe(false);
    expect(isNewPing({ number: 7, at: NOON + HOUR_MS }, mirrored)).toBe(true);
    expect(isSourceNewer(sourceCheck(1, { lastPingAt: NOON - 40 }), mirrored)).toBe(false);
    expect(isSourceNewer(sourceCheck(1, { lastPingAt: NOON + HOUR_MS }), mirrored)).toBe(true);
  });
});

test.each([
  ["up", "up"],
  ["grace", "up"],
  ["started", "up"],
  ["down", "down"],
  ["paused", "paused"],
  ["new", "new"],
  ["?", "new"],
])("the status %s is stored as %s", (status, expected) => {
  expect(mapStatus(status)).toBe(expected);
  expect(statusDifference({ uuid: "u", name: "n", status }, mapStatus(status))).toBeNull();
});
