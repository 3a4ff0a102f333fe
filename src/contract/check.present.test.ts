// A check as JSON: the fields of every version, to every key, in their order and with their values.
import { describe, expect, test } from "vitest";
import { type CheckSettings, DEFAULT_SETTINGS } from "../core/check.ts";
import type { KeyKind } from "../core/identity.ts";
import { type CheckState, NEW_STATE } from "../core/state.ts";
import { checkPresenter, type PresentableCheck } from "./check.ts";
import { publicUrls } from "./urls.ts";
import { type ApiEndpoint, type VersionColumn, VERSIONS } from "./versions.ts";

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
  return checkPresenter({ column, endpoint, keyKind }, { urls: URLS, now: NOW, sha1Hex })(given);
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

  test("a schedule takes the place of the period", () => {
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

  test("the other dialect tells how long the last run took, if it took any time", () => {
    const column = VERSIONS.healthchecks[3];
    expect(present(check({}, { lastDurationMs: 90_999 }), { column })).toMatchObject({ last_duration: 90 });
    expect(present(check({}, { lastDurationMs: 500 }), { column })).toMatchObject({ last_duration: 0 });
    expect(present(check({}, { lastDurationMs: 0 }), { column })).not.toHaveProperty("last_duration");
    expect(present(check({}, { lastDurationMs: 90_999 }))).not.toHaveProperty("last_duration");
  });
});

describe("the values", () => {
  test("addresses are those of the version", () => {
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

  test("a read-only key sees a hash instead of the UUID", () => {
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

  test("the deprecated fields are the keywords while the subject is looked at", () => {
    const settings = { successKw: "OK", failureKw: "BAD", filterSubject: true };
    const changed = { endpoint: "updateCheck" } as const;
    expect(present(check(settings), changed)).toMatchObject({ subject: "OK", subject_fail: "BAD" });
    const off = check({ ...settings, filterSubject: false });
    expect(present(off, changed)).toMatchObject({ subject: "", subject_fail: "" });
  });
});
