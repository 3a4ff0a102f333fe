import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { describePing, urlOf } from "./report.ts";
import { limitOf, suffixOf } from "./run.ts";
import { type Environment, readSettings } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "overdue-settings-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ENVIRONMENT = { HC_API_URL: "https://o.example.org/ping/", PING_KEY: "key", CHECK_SLUG: "slug" };
const read = (args: readonly string[], environment: Environment = ENVIRONMENT) =>
  readSettings("exec", { args: [...args, "--", "true"], environment });

function urlFor(args: readonly string[], environment: Environment = ENVIRONMENT): string | null {
  const { target } = read(args, environment).settings;
  return target === null ? null : urlOf({ target, suffix: "", runId: null, body: Buffer.alloc(0) });
}

describe("the ping URL", () => {
  test.each([
    ["variables", [], {}, "https://o.example.org/ping/key/slug"],
    ["flags instead of variables", ["-slug=a", "-ping-key", "b"], {}, "https://o.example.org/ping/b/a"],
    [
      "the older variable of the key",
      [],
      { PING_KEY: "", HC_PING_KEY: "old" },
      "https://o.example.org/ping/old/slug",
    ],
    ["a UUID before a slug", ["-uuid", "u-u"], {}, "https://o.example.org/ping/u-u"],
    ["a UUID in a variable", [], { CHECK_UUID: "u-u" }, "https://o.example.org/ping/u-u"],
    ["another URL", ["-api-url", "http://h:1"], {}, "http://h:1/key/slug"],
    ["reserved characters", ["-slug", "a/b?c"], {}, "https://o.example.org/ping/key/a%2Fb%3Fc"],
    ["no slug", [], { CHECK_SLUG: undefined }, null],
    ["no key", [], { PING_KEY: undefined }, null],
    ["no URL", [], { HC_API_URL: undefined }, null],
    ["a URL of another kind", ["-api-url", "ftp://h"], {}, null],
    ["a URL with a query", ["-api-url", "http://h/?a"], {}, null],
  ])("%s", (_name, args, environment, url) => {
    expect(urlFor(args, { ...ENVIRONMENT, ...environment })).toBe(url);
  });

  test.each(["HC_API_URL", "PING_KEY", "HC_PING_KEY", "CHECK_SLUG", "CHECK_UUID"])(
    "%s from a file",
    (name) => {
      const path = join(folder, name);
      const value = name === "HC_API_URL" ? "http://from-file" : "from-file";
      writeFileSync(path, ` ${value}\n`);
      expect(
        urlFor([], { ...ENVIRONMENT, PING_KEY: name === "HC_PING_KEY" ? "" : "key", [name]: `file:${path}` }),
      ).toContain("from-file");
    },
  );

  test("an empty file is a problem", () => {
    const path = join(folder, "empty");
    writeFileSync(path, "\n");
    expect(read(["-ping-key", `file:${path}`]).problems).toEqual([
      `-ping-key: the file ${path} is empty.`,
      "Not reported: no ping key. Set PING_KEY or -ping-key.",
    ]);
  });

  test("a run ID and a late end", () => {
    const { target } = read([]).settings;
    if (target === null) throw new Error("no target");
    const late = { endedAtMs: Date.UTC(2026, 0, 2, 3, 4, 5, 6), ranMs: 1_500 };
    expect(urlOf({ target, suffix: "3", runId: "r", body: Buffer.alloc(0), late })).toBe(
      "https://o.example.org/ping/key/slug/3?rid=r&at=2026-01-02T03%3A04%3A05.006Z&ran=1.5",
    );
  });

  test("without secrets, for --dry-run", () => {
    const { target } = read(["-api-url", "https://user:password@h/ping", "-ping-key", "0123456789"]).settings;
    if (target === null) throw new Error("no target");
    expect(describePing({ target, suffix: "fail", runId: null, body: Buffer.from("abc") })).toBe(
      "POST https://…@h/ping/0123…/slug/fail (3 bytes)",
    );
  });
});

test("new checks", () => {
  const flags = ["-create", "--name", "N", "--tag", "a", "--tag", "b", "--schedule", "@daily", "--tz", "UTC"];
  expect(read([...flags, "--period", "1d", "--grace", "90"]).settings.target?.query).toEqual([
    ["create", "1"],
    ["tags", "a b"],
    ["name", "N"],
    ["schedule", "@daily"],
    ["tz", "UTC"],
    ["timeout", "86400"],
    ["grace", "90"],
  ]);
  expect(read(["--name", "N", "--tag", "a"])).toMatchObject({
    problems: ["-name, -tag ignored: without -create."],
    settings: { target: { query: [] } },
  });
  expect(read(["-create", "-uuid", "u"]).problems).toEqual([
    "-create ignored: it needs a slug and a ping key.",
  ]);
  expect(read(["-create", "--grace", "soon"]).problems).toEqual([
    '-grace "soon" is not a duration such as 90s or 1h30m, ignored.',
  ]);
});

test("defaults, and the limits of durations", () => {
  expect(read([]).settings).toMatchObject({
    tryMs: 4_000,
    retriesMax: null,
    reportMs: 15_000,
    killAfterMs: 30_000,
    timeoutMs: null,
    everyMs: null,
    echo: "always",
    onSuccess: "success",
    onNonzeroExit: "exit-code",
    onExecFail: "fail",
  });
  // Node fires a longer timer at once.
  expect(read(["--timeout", "60d"]).settings.timeoutMs).toBe(24 * 86_400_000);
  expect(read(["-every", "60d"]).settings.everyMs).toBe(60 * 86_400_000);
});

test.each([
  [null, null, 10_000],
  [null, 100_000, 100_000],
  [null, 50_000_000, 10_000_000],
  [500, null, 500],
  [500, 100, 100],
  [0, null, 10_000_000],
  [0, 100, 100],
])("the limit of the body: flag %j, server %j", (bodyLimit, ofServer, limit) => {
  expect(
    limitOf({ bodyLimit }, ofServer === null ? null : { bodyLimit: ofServer, acceptsLateEnds: null }),
  ).toBe(limit);
});

test("exit codes of Windows above 255 are reported as failures", () => {
  const types = { onSuccess: "success", onNonzeroExit: "exit-code", onExecFail: "fail" } as const;
  expect(suffixOf({ code: 3_221_225_477, hasStarted: true }, types)).toBe("fail");
});
