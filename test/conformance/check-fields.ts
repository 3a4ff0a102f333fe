// A check and a ping in the fields of version 3 of the API, as far as they follow from what is stored. It stands
// in for what the Management API will answer; the rest of an answer is not looked at until that exists.
import { type Instant, SECOND_MS } from "../../src/core/instant.ts";
import { nextPingAt, statusAt } from "../../src/core/machine/status.ts";
import type { CheckWithState } from "../../src/store/checks/checks.ts";
import type { Ping } from "../../src/store/history/pings.ts";
import { timeText } from "./template.ts";

type Fields = Record<string, unknown>;

export type ShownCheck = { check: CheckWithState; channelUuids: readonly string[] };

/** A check as somebody with a read-write key would see it at `now`. */
export function checkFields(
  { check, channelUuids }: ShownCheck,
  { site, now }: { site: string; now: Instant },
): Fields {
  const { settings, state, uuid } = check;
  const watched = { timing: settings, state };
  const address = `${site}/api/v3/checks/${uuid}`;
  const { timeoutSeconds, schedule, tz } = settings;
  return {
    name: settings.name,
    slug: settings.slug,
    tags: settings.tags,
    desc: settings.desc,
    grace: settings.graceSeconds,
    n_pings: state.pingCount,
    status: statusAt(watched, now),
    started: state.lastStartAt !== null,
    last_ping: wholeSeconds(state.lastPingAt),
    next_ping: wholeSeconds(nextPingAt(watched)),
    manual_resume: settings.manualResume,
    methods: settings.methods,
    start_kw: settings.startKw,
    success_kw: settings.successKw,
    failure_kw: settings.failureKw,
    filter_subject: settings.filterSubject,
    filter_body: settings.filterBody,
    ...(settings.filterHttpBody && { filter_http_body: true }),
    ...(settings.filterDefaultFail && { filter_default_fail: true }),
    badge_url: `${site}/b/2/${check.badgeUuid}.svg`,
    uuid,
    ping_url: `${site}/ping/${uuid}`,
    update_url: address,
    pause_url: `${address}/pause`,
    resume_url: `${address}/resume`,
    channels: channelUuids.toSorted().join(","),
    ...(settings.kind === "simple" ? { timeout: timeoutSeconds } : { schedule, tz }),
  };
}

/** A ping of the list; its duration, which the list works out, is left out. */
export function pingFields(ping: Ping, { site, checkUuid }: { site: string; checkUuid: string }): Fields {
  const bodyUrl = `${site}/api/v3/checks/${checkUuid}/pings/${ping.n}/body`;
  return {
    type: ping.kind,
    date: new Date(ping.at).toISOString().replace("Z", "000+00:00"),
    n: ping.n,
    scheme: ping.scheme,
    remote_addr: ping.remoteAddr,
    method: ping.method,
    ua: ping.ua,
    rid: ping.rid,
    body_url: ping.bodySize === null ? null : bodyUrl,
  };
}

function wholeSeconds(at: Instant | null): string | null {
  return at === null ? null : timeText(Math.floor(at / SECOND_MS));
}
