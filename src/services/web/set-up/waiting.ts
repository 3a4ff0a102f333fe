// What the page that waits for a first ping is told: what arrived, what nearly did, and what to try.
import type { Arrival, NearMiss, Waiting } from "../../../contract/web/set-up.ts";
import { pingUrl } from "../../../contract/urls.ts";
import { curlLine } from "../../../contract/web/requests/signal-line.ts";
import { mayDo } from "../../../core/access.ts";
import { MINUTE_MS } from "../../../core/instant.ts";
import { basePath } from "../../../lib/http/request-target.ts";
import { listPings, type Ping } from "../../../store/history/pings.ts";
import type { CheckAsk } from "../route.ts";
import { explainMiss, explainStranger } from "./near-miss.ts";

const SHOWN_MAX = 5;
/** Older tries belong to another story. */
const MISSES_AGE_MS = 15 * MINUTE_MS;
/** Misses are dated by the clock of this process, checks by that of the database. */
const CLOCKS_APART_MS = 1_000;
const SHOWN_KINDS = { success: "success", start: "start", fail: "fail", log: "log", ign: "ignored" } as const;

/** The answer for a check; misses of strangers are shown to whoever runs the installation only. */
export async function waitingFor({ house, account, project, role, check, now }: CheckAsk): Promise<Waiting> {
  const { uuid, settings } = check;
  const pings = await listPings(house.database, { checkId: check.id, afterN: 0, limit: SHOWN_MAX });
  const wanted = {
    uuid,
    slug: settings.slug,
    // Tries with the ping key show it.
    pingKey: mayDo(role, "manageKeys") ? project.pingKey : null,
    pingPath: basePath(new URL(house.urls.ping)),
  };
  // Before it was there, nobody can have meant it.
  const ageMs = Math.min(MISSES_AGE_MS, house.now() - check.createdAt + CLOCKS_APART_MS);
  const nearMisses = house.setUp.missesSince(Date.now() - ageMs).flatMap((miss): NearMiss[] => {
    const text =
      explainMiss(miss, wanted) ?? (account.isOperator ? explainStranger(miss, wanted.pingPath) : null);
    if (text === null) return [];
    const { at, method, remoteAddr, ua } = miss;
    return [{ at, method, remoteAddr, ua, address: `${miss.host}${miss.target}`, text }];
  });
  const address = pingUrl(house.urls, uuid);
  const onlyPost = settings.methods === "POST";
  return {
    now,
    channels: check.channelUuids.length,
    arrivals: pings.map(arrivalOf),
    nearMisses: nearMisses.slice(0, SHOWN_MAX),
    curl: curlLine(address, { onlyPost }),
    hints: hintsFor({ address, onlyPost, ignored: pings.some(({ kind }) => kind === "ign") }),
  };
}

function arrivalOf({ n, at, kind, scheme, method, remoteAddr, ua }: Ping): Arrival {
  const by = scheme === "email" ? "email" : "http";
  return { n, at, kind: SHOWN_KINDS[kind], by, method, remoteAddr, ua };
}

function hintsFor(at: { address: string; onlyPost: boolean; ignored: boolean }): string[] {
  const { protocol, hostname } = new URL(at.address);
  const hints: string[] = [];
  if (at.ignored) {
    hints.push(
      at.onlyPost
        ? "Received a request with a method other than POST. This check accepts only POST, so the request was logged and ignored."
        : "Received a ping, but the keyword filters of this check ignored it.",
    );
  }
  if (hostname === "localhost" || hostname.startsWith("127.") || hostname === "[::1]") {
    hints.push(
      "This URL works only on this machine. For jobs on other machines, set OVERDUE_SITE_URL to a host name they can reach.",
    );
  }
  if (protocol === "https:") {
    hints.push(
      "The URL uses HTTPS. Most proxies redirect HTTP requests, and curl follows redirects only with -L.",
    );
  }
  return hints;
}
