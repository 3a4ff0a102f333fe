// A check as JSON: which fields a version shows, to whom, and with which values. What a check is at an instant is
// asked of core.
import { type CheckSettings, subjectFailOf, subjectOf } from "../core/check.ts";
import { type Sha1Hex, uniqueKey } from "../core/identity.ts";
import { type Instant, SECOND_MS } from "../core/instant.ts";
import type { CheckState } from "../core/machine/state.ts";
import { nextPingAt, statusAt, statusWithStartedAt } from "../core/machine/status.ts";
import { type CheckField, type CheckValues, TIMING_FIELDS } from "./check-fields.ts";
import { isSometimesShown, type Showing, shownFields } from "./check-schemas.ts";
import { isoSeconds } from "./timestamp.ts";
import { checkBadgeUrl, checkUrls, type CheckUrls, pingUrl, type PublicUrls } from "./urls.ts";

/** A check with everything that can be seen of it. The channels stand in the order of their texts. */
export type PresentableCheck = {
  uuid: string;
  badgeUuid: string;
  settings: CheckSettings;
  state: CheckState;
  channelUuids: readonly string[];
};

/** With what a check is presented, besides itself. */
export type Surroundings = { urls: PublicUrls; now: Instant; sha1Hex: Sha1Hex };

type Context = {
  showing: Showing;
  surroundings: Surroundings;
  addresses: CheckUrls;
};
type ValueOf<Field extends CheckField> = (
  check: PresentableCheck,
  context: Context,
) => CheckValues[Field] | undefined;

function shownInstant(at: Instant | null): string | null {
  return at === null ? null : isoSeconds(at);
}

/** The value of each field; undefined leaves it out. */
const VALUES: { readonly [Field in CheckField]: ValueOf<Field> } = {
  name: ({ settings }) => settings.name,
  slug: ({ settings }) => settings.slug,
  tags: ({ settings }) => settings.tags,
  desc: ({ settings }) => settings.desc,
  grace: ({ settings }) => settings.graceSeconds,
  n_pings: ({ state }) => state.pingCount,
  status: ({ settings, state }, { showing, surroundings }) => {
    const statusOf = showing.column.startedIsStatus ? statusWithStartedAt : statusAt;
    return statusOf({ timing: settings, state }, surroundings.now);
  },
  started: ({ state }) => state.lastStartAt !== null,
  last_ping: ({ state }) => shownInstant(state.lastPingAt),
  next_ping: ({ settings, state }) => shownInstant(nextPingAt({ timing: settings, state })),
  manual_resume: ({ settings }) => settings.manualResume,
  methods: ({ settings }) => settings.methods,
  subject: ({ settings }) => subjectOf(settings),
  subject_fail: ({ settings }) => subjectFailOf(settings),
  start_kw: ({ settings }) => settings.startKw,
  success_kw: ({ settings }) => settings.successKw,
  failure_kw: ({ settings }) => settings.failureKw,
  filter_subject: ({ settings }) => settings.filterSubject,
  filter_body: ({ settings }) => settings.filterBody,
  filter_http_body: ({ settings }) => settings.filterHttpBody,
  filter_default_fail: ({ settings }) => settings.filterDefaultFail,
  badge_url: ({ badgeUuid }, { surroundings }) => checkBadgeUrl(surroundings.urls, badgeUuid),
  // A run that took no time at all is one of which nothing is known.
  last_duration: ({ state }) =>
    state.lastDurationMs ? Math.floor(state.lastDurationMs / SECOND_MS) : undefined,
  uuid: ({ uuid }) => uuid,
  ping_url: ({ uuid }, { surroundings }) => pingUrl(surroundings.urls, uuid),
  update_url: ({ uuid }, { addresses }) => addresses.update(uuid),
  pause_url: ({ uuid }, { addresses }) => addresses.pause(uuid),
  resume_url: ({ uuid }, { addresses }) => addresses.resume(uuid),
  channels: ({ channelUuids }) => channelUuids.join(","),
  unique_key: ({ uuid }, { surroundings }) => uniqueKey(uuid, surroundings.sha1Hex),
  timeout: ({ settings }) => settings.timeoutSeconds,
  schedule: ({ settings }) => settings.schedule,
  tz: ({ settings }) => settings.tz,
};

/** Presents any number of checks for the same answer. */
export function checkPresenter(
  showing: Showing,
  surroundings: Surroundings,
): (check: PresentableCheck) => Record<string, unknown> {
  const addresses = checkUrls(surroundings.urls, showing.column.number);
  const context: Context = { showing, surroundings, addresses };
  const common = shownFields(showing).map((field) => ({
    field,
    valueOf: VALUES[field] as ValueOf<CheckField>,
    isOptional: isSometimesShown(field, showing.column),
  }));
  return (check) => {
    const json: Record<string, unknown> = {};
    for (const { field, valueOf, isOptional } of common) {
      const value = valueOf(check, context);
      if (!isOptional || (value !== undefined && value !== false)) json[field] = value;
    }
    const timing = check.settings.kind === "simple" ? TIMING_FIELDS.simple : TIMING_FIELDS.scheduled;
    for (const field of timing) json[field] = VALUES[field](check, context);
    return json;
  };
}
