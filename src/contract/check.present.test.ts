// A check as JSON: the fields of every version, for every key, in their order and with their values.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CheckSettings, DEFAULT_SETTINGS, subjectFailOf, subjectOf } from "../core/check.ts";
import { type KeyKind, uniqueKey } from "../core/identity.ts";
import { MINUTE_MS } from "../core/instant.ts";
import { type CheckState, NEW_STATE, viewAt, viewWithStartedAt } from "../core/state.ts";
import { checkSerializer, type PresentableCheck } from "./check.ts";
import { isoSeconds } from "./timestamp.ts";
import { apiBase, publicUrls } from "./urls.ts";
import {
  type ApiEndpoint,
  type CheckField,
  VERSION_NUMBERS,
  type VersionColumn,
  VERSIONS,
} from "./versions.ts";

const UUID = "31365bce-8da9-4729-8ff3-aaa71d56b712";
const BADGE = "803f680d-e89b-492b-82ef-2be7b774a92d";
const NOW = Date.UTC(2026, 2, 1, 12);
const URLS = publicUrls({ siteUrl: "https://example.org/cron/", pingUrl: null, apiUrl: null });

function check(settings: Partial<CheckSettings> = {}, state: Partial<CheckState> = {}): PresentableCheck {
  return {
    uuid: UUID,
    badgeUuid: BADGE,
    settings: { ...DEFAULT_SETTINGS, ...settings },
    state: { ...NEW_STATE, ...state },
    channelUuids: ["a", "b"],
  };
}

type As = { column?: VersionColumn; endpoint?: ApiEndpoint; keyKind?: KeyKind };

function present(
  given: PresentableCheck,
  { column = V3, endpoint = "getCheck", keyKind = "readWrite" }: As = {},
) {
  const sha1Hex = (text: string) => `sha1 of ${text}`;
  const serialize = checkSerializer({ column, endpoint, keyKind }, { urls: URLS, sha1Hex });
  return JSON.parse(serialize(given, NOW).json) as Record<string, unknown>;
}

const V3 = VERSIONS.standard[3];
const V1 = VERSIONS.standard[1];
const fields = (json: object) => Object.keys(json).join(" ");

const START_1 = "name slug tags desc grace n_pings status";
const END_1 = "last_ping next_ping manual_resume methods";
const KEYWORDS = "start_kw success_kw failure_kw filter_subject filter_body";
const OWN_3 = "uuid ping_url update_url pause_url resume_url channels";

describe("the fields", () => {
  test.each<[string, As, string]>([
    ["version 3", {}, `${START_1} started ${END_1} ${KEYWORDS} badge_url ${OWN_3} timeout`],
    [
      "version 3, read-only",
      { keyKind: "readOnly" },
      `${START_1} started ${END_1} ${KEYWORDS} badge_url unique_key timeout`,
    ],
    [
      "version 3, changed",
      { endpoint: "pauseCheck" },
      `${START_1} started ${END_1} subject subject_fail ${KEYWORDS} badge_url ${OWN_3} timeout`,
    ],
    [
      "version 2",
      { column: VERSIONS.standard[2] },
      `${START_1} started ${END_1} ${KEYWORDS} badge_url ${OWN_3} timeout`,
    ],
    [
      "version 1",
      { column: V1 },
      `${START_1} ${END_1} subject subject_fail ping_url update_url pause_url channels timeout`,
    ],
    [
      "version 1, read-only",
      { column: V1, keyKind: "readOnly" },
      `${START_1} ${END_1} subject subject_fail unique_key timeout`,
    ],
    [
      "the other dialect, any version",
      { column: VERSIONS.healthchecks[1] },
      `${START_1} started ${END_1} subject subject_fail ${KEYWORDS} filter_http_body filter_default_fail badge_url ${OWN_3} timeout`,
    ],
  ])("of %s", (_name, as, expected) => {
    expect(fields(present(check(), as))).toBe(expected);
  });

  test("a schedule replaces the period", () => {
    const json = present(check({ kind: "oncalendar", schedule: "daily", tz: "Europe/Riga" }));
    expect(fields(json).endsWith(" channels schedule tz")).toBe(true);
    expect(json).toMatchObject({ schedule: "daily", tz: "Europe/Riga" });
  });

  test("extensions are shown where they are set", () => {
    const json = present(check({ filterHttpBody: true, filterDefaultFail: true }));
    expect(json).toMatchObject({ filter_http_body: true, filter_default_fail: true });
    expect(fields(present(check({ filterHttpBody: true }), { column: V1 }))).not.toContain(
      "filter_http_body",
    );
  });

  test("the other dialect shows the duration of the last run, unless it is zero", () => {
    const column = VERSIONS.healthchecks[3];
    expect(present(check({}, { lastDurationMs: 90_999 }), { column })).toMatchObject({ last_duration: 90 });
    expect(present(check({}, { lastDurationMs: 500 }), { column })).toMatchObject({ last_duration: 0 });
    expect(present(check({}, { lastDurationMs: 0 }), { column })).not.toHaveProperty("last_duration");
    expect(present(check({}, { lastDurationMs: 90_999 }))).not.toHaveProperty("last_duration");
  });
});

describe("the values", () => {
  test("URLs are those of the version", () => {
    expect(present(check())).toMatchObject({
      badge_url: `https://example.org/cron/b/2/${BADGE}.svg`,
      ping_url: `https://example.org/cron/ping/${UUID}`,
      update_url: `https://example.org/cron/api/v3/checks/${UUID}`,
      pause_url: `https://example.org/cron/api/v3/checks/${UUID}/pause`,
      resume_url: `https://example.org/cron/api/v3/checks/${UUID}/resume`,
    });
    expect(present(check(), { column: V1 })["update_url"]).toBe(
      `https://example.org/cron/api/v1/checks/${UUID}`,
    );
  });

  test("a read-only key gets a hash instead of the UUID", () => {
    const json = present(check(), { keyKind: "readOnly" });
    expect(json["unique_key"]).toBe("sha1 of 31365bce8da94729");
    expect(JSON.stringify(json)).not.toContain(UUID);
  });

  test("times have whole seconds and their offset", () => {
    const lastPingAt = NOW - 1_000 + 999;
    const json = present(check({ timeoutSeconds: 60 }, { status: "up", lastPingAt, pingCount: 7 }));
    expect(json).toMatchObject({
      status: "up",
      n_pings: 7,
      last_ping: "2026-03-01T11:59:59+00:00",
      next_ping: "2026-03-01T12:00:59+00:00",
    });
  });

  test("a run in progress is a status of version 1, and a flag of version 3", () => {
    const running = check({}, { status: "up", lastPingAt: NOW - 5_000, lastStartAt: NOW - 1_000 });
    expect(present(running)).toMatchObject({ status: "up", started: true });
    expect(present(running, { column: V1 })).toMatchObject({ status: "started" });
    expect(present(running, { column: VERSIONS.healthchecks[1] })).toMatchObject({ status: "started" });
    expect(present(running, { column: VERSIONS.standard[2] })).toMatchObject({ status: "up", started: true });
  });

  test("the deprecated fields contain the keywords while the subject is matched", () => {
    const settings = { successKw: "OK", failureKw: "BAD", filterSubject: true };
    const changed = { endpoint: "updateCheck" } as const;
    expect(present(check(settings), changed)).toMatchObject({ subject: "OK", subject_fail: "BAD" });
    const off = check({ ...settings, filterSubject: false });
    expect(present(off, changed)).toMatchObject({ subject: "", subject_fail: "" });
  });
});

describe("the text", () => {
  type Value = string | number | boolean | null | undefined;

  /** Every field of a check as a value; undefined for one that is left out. */
  function valuesOf({ settings, state, ...given }: PresentableCheck, column: VersionColumn) {
    const view = (column.startedIsStatus ? viewWithStartedAt : viewAt)({ timing: settings, state }, NOW);
    const instant = (at: number | null) => (at === null ? null : isoSeconds(at));
    const extension = (isSet: boolean) => (isSet || column.extensions === "always" ? isSet : undefined);
    const url = `${apiBase(URLS, column.number)}/checks/${given.uuid}`;
    const { lastDurationMs } = state;
    return {
      name: settings.name,
      slug: settings.slug,
      tags: settings.tags,
      desc: settings.desc,
      grace: settings.graceSeconds,
      n_pings: state.pingCount,
      status: view.status,
      started: state.lastStartAt !== null,
      last_ping: instant(state.lastPingAt),
      next_ping: instant(view.nextPingAt),
      manual_resume: settings.manualResume,
      methods: settings.methods,
      subject: subjectOf(settings),
      subject_fail: subjectFailOf(settings),
      start_kw: settings.startKw,
      success_kw: settings.successKw,
      failure_kw: settings.failureKw,
      filter_subject: settings.filterSubject,
      filter_body: settings.filterBody,
      filter_http_body: extension(settings.filterHttpBody),
      filter_default_fail: extension(settings.filterDefaultFail),
      badge_url: `${URLS.site}/b/2/${given.badgeUuid}.svg`,
      last_duration: lastDurationMs ? Math.floor(lastDurationMs / 1_000) : undefined,
      uuid: given.uuid,
      ping_url: `${URLS.ping}/${given.uuid}`,
      update_url: url,
      pause_url: `${url}/pause`,
      resume_url: `${url}/resume`,
      channels: given.channelUuids.join(","),
      unique_key: uniqueKey(given.uuid, (text) => `sha1 of ${text}`),
      timeout: settings.timeoutSeconds,
      schedule: settings.schedule,
      tz: settings.tz,
    } satisfies Record<CheckField, Value>;
  }

  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({
      unit: fc.constantFrom('"', "\\", "\n", "\u0007", "\ud83d", "\udc4d", "\u2028", "é", "a", "</b>"),
    }),
  );
  const instants = fc.option(
    fc.integer({ min: -90, max: 90 }).map((minutes) => NOW + minutes * MINUTE_MS + 7),
    { nil: null },
  );
  const settings = fc.record({
    name: text,
    slug: text,
    tags: text,
    desc: text,
    kind: fc.constantFrom("simple", "cron", "oncalendar"),
    timeoutSeconds: fc.integer({ min: 60, max: 31_536_000 }),
    graceSeconds: fc.integer({ min: 60, max: 31_536_000 }),
    schedule: fc.constantFrom("*/5 * * * *", "12:30", '"'),
    tz: fc.constantFrom("UTC", "Europe/Riga"),
    manualResume: fc.boolean(),
    rules: fc.constant(null),
    methods: fc.constantFrom("", "POST"),
    startKw: text,
    successKw: text,
    failureKw: text,
    filterSubject: fc.boolean(),
    filterBody: fc.boolean(),
    filterHttpBody: fc.boolean(),
    filterDefaultFail: fc.boolean(),
  });
  const states = fc.record({
    status: fc.constantFrom("new", "up", "down", "paused"),
    lastPingAt: instants,
    lastStartAt: instants,
    expectFromAt: instants,
    lastDurationMs: fc.option(fc.integer({ min: 0, max: 10_000 }), { nil: null }),
    pingCount: fc.nat(),
  });
  const columns = Object.values(VERSIONS).flatMap((dialect) => VERSION_NUMBERS.map((one) => dialect[one]));

  test("equals the output of JSON.stringify, in every version and dialect, for both kinds of key", () => {
    const endpoints = fc.constantFrom<ApiEndpoint>("listChecks", "getCheck", "updateCheck");
    const keyKinds = fc.constantFrom<KeyKind>("readWrite", "readOnly");
    const uuids = fc.uuid();
    const checks = fc.record({
      uuid: uuids,
      badgeUuid: uuids,
      settings,
      state: states,
      channelUuids: fc.array(uuids, { maxLength: 3 }),
    });
    fc.assert(
      fc.property(
        checks,
        fc.constantFrom(...columns),
        endpoints,
        keyKinds,
        (given, column, endpoint, keyKind) => {
          const values = valuesOf(given, column);
          const hasSubjects = column.subjectsOn.includes(endpoint);
          const names: CheckField[] = [
            ...column.checkFields.filter((name) => hasSubjects || !name.startsWith("subject")),
            ...column.keyFields[keyKind],
            ...(given.settings.kind === "simple" ? (["timeout"] as const) : (["schedule", "tz"] as const)),
          ];
          const expected = JSON.stringify(Object.fromEntries(names.map((name) => [name, values[name]])));
          const sha1Hex = (of: string) => `sha1 of ${of}`;
          const serialize = checkSerializer({ column, endpoint, keyKind }, { urls: URLS, sha1Hex });
          expect(serialize(given, NOW).json).toBe(expected);
        },
      ),
      { numRuns: 500 },
    );
  });
});
