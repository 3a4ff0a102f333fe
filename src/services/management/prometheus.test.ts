// The Prometheus text format, line by line.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MINUTE_MS } from "../../core/instant.ts";
import { type CheckState, downAtOf, NEW_STATE } from "../../core/state.ts";
import type { ScrapedCheck } from "../../store/check-lists.ts";
import { prometheusPage } from "./prometheus.ts";

const NOON = Date.UTC(2026, 10, 16, 12);
const UUID = "31365bce-8da9-4729-8ff3-aaa71d56b712";
const KEY = "a6c7b0a8a66bed0df66abfdab3c77736861703ee";

function check(
  given: { name?: string; tags?: string; uuid?: string },
  state: Partial<CheckState> = {},
): ScrapedCheck {
  const timing = {
    kind: "simple",
    timeoutSeconds: 3_600,
    graceSeconds: 600,
    schedule: "",
    tz: "UTC",
    manualResume: false,
    rules: null,
  } as const;
  const watched = { timing, state: { ...NEW_STATE, ...state } };
  return { id: 1, uuid: UUID, name: "", tags: "", ...given, ...watched, downAt: downAtOf(watched) };
}

async function piecesOf(checks: readonly ScrapedCheck[], now: number): Promise<string[]> {
  const pieces: string[] = [];
  for await (const piece of prometheusPage(checks, { now, alerts: null })) pieces.push(piece);
  return pieces;
}

async function page(checks: readonly ScrapedCheck[], now = NOON): Promise<string> {
  return (await piecesOf(checks, now)).join("");
}

/** Name and labels of each sample, and its value. */
async function samples(checks: readonly ScrapedCheck[], now = NOON): Promise<Record<string, string>> {
  const lines = (await page(checks, now)).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(lines.map((line) => [line.replace(/ \d+$/, ""), line.replace(/^.* /, "")]));
}

test("without checks it has all families and two totals", async () => {
  const text = await page([]);
  expect(Array.from(text.matchAll(/^# TYPE (.*)$/gm), ([, family]) => family)).toEqual([
    "hc_check_up gauge",
    "hc_check_started gauge",
    "hc_check_grace gauge",
    "hc_check_paused gauge",
    "hc_tag_up gauge",
    "hc_checks_total gauge",
    "hc_checks_down_total gauge",
  ]);
  expect(text.match(/^# HELP /gm)).toHaveLength(7);
  expect(text).toMatch(/\nhc_checks_total 0\n[^]*\nhc_checks_down_total 0\n$/);
});

describe("a check", () => {
  test.each([
    ["new", {}, [1, 0, 0, 0]],
    ["up", { status: "up", lastPingAt: NOON }, [1, 0, 0, 0]],
    ["late", { status: "up", lastPingAt: NOON - 61 * MINUTE_MS }, [1, 0, 1, 0]],
    ["down", { status: "down", lastPingAt: NOON }, [0, 0, 0, 0]],
    ["paused", { status: "paused" }, [1, 0, 0, 1]],
    ["started", { lastStartAt: NOON }, [1, 1, 0, 0]],
    ["down and started", { status: "down", lastStartAt: NOON }, [0, 1, 0, 0]],
  ] as const)("that is %s has the right four values", async (name, state, values) => {
    const found = await samples([check({ name }, state)]);
    const labels = `{name="${name}", tags="", unique_key="${KEY}"}`;
    const families = ["hc_check_up", "hc_check_started", "hc_check_grace", "hc_check_paused"];
    expect(families.map((family) => Number(found[family + labels]))).toEqual(values);
    expect(found["hc_checks_down_total"]).toBe(values[0] === 0 ? "1" : "0");
  });

  test("is named by its unique key, not by its UUID", async () => {
    const text = await page([check({ name: "n" })]);
    expect(text).toContain(KEY);
    expect(text).not.toContain(UUID);
  });
});

test("a tag is down as soon as one of its checks is", async () => {
  const down = { status: "down" } as const;
  const checks = [check({ tags: "a b" }, down), check({ tags: "a  c" }), check({ tags: "c" })];
  expect(await samples(checks)).toMatchObject({
    'hc_tag_up{tag="a"}': "0",
    'hc_tag_up{tag="b"}': "0",
    'hc_tag_up{tag="c"}': "1",
  });
});

test("quotes, backslashes and line ends are escaped", async () => {
  const found = await samples([check({ name: 'a"b\\c\nd', tags: 't"x' })]);
  expect(found[`hc_check_up{name="a\\"b\\\\c\\nd", tags="t\\"x", unique_key="${KEY}"}`]).toBe("1");
  expect(found['hc_tag_up{tag="t\\"x"}']).toBe("1");
});

const LINE =
  /^(?:# (?:HELP|TYPE) \w+ .+|\w+(?:\{\w+="(?:[^"\\\n]|\\["\\n])*"(?:, \w+="(?:[^"\\\n]|\\["\\n])*")*\})? \d+)$/;

test("for any names and tags, each line can be parsed by Prometheus", async () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: fc.constantFrom('"', "\\", "\n", "x") }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.record({ name: text, tags: text }), { maxLength: 5 }), async (given) => {
      const lines = (await page(given.map((one) => check(one)))).split("\n");
      expect(lines.pop()).toBe("");
      expect(lines.filter((line) => !LINE.test(line))).toEqual([]);
    }),
    { numRuns: 50 },
  );
});

test("a large project is rendered in pieces, and completely", async () => {
  const uuids = Array.from({ length: 1_234 }, (_, index) =>
    UUID.replace(/^.{8}/, String(10_000_000 + index)),
  );
  const checks = uuids.map((uuid) => check({ uuid, tags: `t${uuid.slice(0, 8)}` }));
  const pieces = await piecesOf(checks, NOON);
  expect(pieces.length).toBeGreaterThan(10);
  expect(pieces.join("").match(/^hc_check_paused\{/gm)).toHaveLength(1_234);
  expect(pieces.join("").match(/^hc_tag_up\{/gm)).toHaveLength(1_234);
  expect(pieces.join("")).toContain("\nhc_checks_total 1234\n");
});

test("alerts, silences and incidents are added if they are wanted", async () => {
  const checks = [check({ name: "a" }), { ...check({ name: "b" }), id: 2 }];
  const alerts = {
    open: new Set([1]),
    silenced: new Set([2]),
    incidentCounts: { open: 3, acknowledged: 1 },
  };
  let text = "";
  for await (const piece of prometheusPage(checks, { now: NOON, alerts })) text += piece;
  const added = text.slice(text.indexOf("# HELP overdue_alert_open"));
  expect(added.split("\n").filter((line) => !line.startsWith("# HELP"))).toEqual([
    "# TYPE overdue_alert_open gauge",
    `overdue_alert_open{name="a", tags="", unique_key="${KEY}"} 1`,
    `overdue_alert_open{name="b", tags="", unique_key="${KEY}"} 0`,
    "# TYPE overdue_silenced gauge",
    `overdue_silenced{name="a", tags="", unique_key="${KEY}"} 0`,
    `overdue_silenced{name="b", tags="", unique_key="${KEY}"} 1`,
    "# TYPE overdue_incidents_open gauge",
    'overdue_incidents_open{state="open"} 3',
    'overdue_incidents_open{state="acknowledged"} 1',
    "",
  ]);
});
