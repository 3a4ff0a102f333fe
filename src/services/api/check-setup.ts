// Waiting for the first ping of a check: what arrived, and requests that were meant for it and did not match.
import type { CheckSetup, SetupPing, UnmatchedPing } from "../../contract/api/history.ts";
import { curlLine } from "../../contract/api/words.ts";
import { pingUrl } from "../../contract/urls.ts";
import { mayDo, type Role } from "../../core/access.ts";
import { isUuid } from "../../core/identity.ts";
import { type Instant, MINUTE_MS } from "../../core/instant.ts";
import { basePath } from "../../lib/http/request-target.ts";
import { listPings, type Ping } from "../../store/pings.ts";
import type { Project } from "../../store/projects.ts";
import type { Person } from "../../store/sessions.ts";
import type { ApiContext, CheckRecord } from "./route.ts";

export type MissedRequest = { method: string; target: string };

/** The properties of a check that requests are compared with. */
export type WaitedFor = {
  uuid: string;
  slug: string;
  pingKey: string | null;
  /** The path before the UUID, such as "/ping". */
  pingPath: string;
};

const METHODS_TAKEN = ["GET", "HEAD", "POST"];
const ACTIONS = "start, fail, log or an exit code from 0 to 255";
const SIGNAL = /^(start|fail|log|\d{1,3})$/;
/** With more differences, it is considered another UUID. */
const DIFFERENCES_MAX = 4;
const CUT_LENGTH_MIN = 8;
const UUID_LENGTH = 36;

/** The problem of a request; null if it was not meant for this check. */
export function explainMiss({ method, target }: MissedRequest, check: WaitedFor): string | null {
  const path = pathOf(target);
  const segments = path.split("/").filter((segment) => segment !== "");
  const at = segments.findIndex((segment) => segment.toLowerCase() === check.uuid);
  if (at !== -1) return explainRightUuid({ method, segments, at }, check);
  if (check.pingKey !== null && segments.includes(check.pingKey)) return explainRightKey(segments, check);
  const near = segments.map((segment) => explainNearUuid(segment.toLowerCase(), check.uuid));
  return near.find((text) => text !== null) ?? null;
}

/**
 * The explanation of any request for an admin; null if it was not a ping, or may have failed for another reason than
 * an unknown check.
 */
export function explainUnmatched({ method, target }: MissedRequest, pingPath: string): string | null {
  const segments = pathOf(target).split("/").filter(Boolean);
  const at = segments.findIndex((segment) => isUuid(segment.toLowerCase()));
  const uuid = segments[at];
  if (uuid === undefined || `/${segments.slice(0, at).join("/")}` !== pingPath) return null;
  const [action, ...rest] = segments.slice(at + 1);
  const isSignal = rest.length === 0 && (action === undefined || SIGNAL.test(action));
  if (!isSignal || !METHODS_TAKEN.includes(method)) return null;
  return `No check with the UUID ${uuid}. It may have been deleted, or belong to another server.`;
}

function explainRightUuid(
  { method, segments, at }: { method: string; segments: readonly string[]; at: number },
  { pingPath, uuid }: WaitedFor,
): string | null {
  const before = `/${segments.slice(0, at).join("/")}`;
  const after = segments.slice(at + 1);
  if (before !== pingPath && (before === "/" || !before.endsWith(pingPath))) {
    return `The UUID is correct, but the path before it is "${before}" instead of "${pingPath}". Use ${pingPath}/${uuid}`;
  }
  if (!METHODS_TAKEN.includes(method)) {
    return `The URL is correct, but the method is ${method}. Use ${METHODS_TAKEN.join(", ")}.`;
  }
  if (after.length > 0) {
    return `The UUID is correct, but "/${after.join("/")}" after it is not valid. Use ${ACTIONS}, or nothing.`;
  }
  return null;
}

function explainRightKey(segments: readonly string[], { pingKey, slug }: WaitedFor): string {
  const given = segments[segments.indexOf(pingKey ?? "") + 1];
  const wanted =
    slug === "" ? "This check has no slug yet. Add one, or use its UUID." : `The slug is "${slug}".`;
  if (given === undefined) return `The ping key is correct, but the slug after it is missing. ${wanted}`;
  if (given === slug)
    return `The ping key and slug are correct, but the rest of the URL is not valid. Use ${ACTIONS}, or nothing.`;
  return `The ping key is correct, but no check has the slug "${given}". ${wanted} To create a check with the slug you sent, add ?create=1.`;
}

function explainNearUuid(given: string, wanted: string): string | null {
  if (given.length < CUT_LENGTH_MIN || given.length > UUID_LENGTH + DIFFERENCES_MAX) return null;
  if (given.length < UUID_LENGTH && wanted.startsWith(given)) {
    return `The UUID is incomplete: only ${given.length} of ${UUID_LENGTH} characters.`;
  }
  if (given.length < UUID_LENGTH && wanted.endsWith(given)) {
    return `The first ${UUID_LENGTH - given.length} characters of the UUID are missing.`;
  }
  if (given.replaceAll("-", "") === wanted.replaceAll("-", ""))
    return "The hyphens in the UUID are missing or misplaced.";
  const differences = editDistance(given, wanted);
  if (differences > DIFFERENCES_MAX) return null;
  const count = differences === 1 ? "one character" : `${differences} characters`;
  return `The UUID differs from this check's UUID by ${count}. Copy the command again.`;
}

/** The Levenshtein distance. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const same = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(same, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

function pathOf(target: string): string {
  const path = target.split("?", 1)[0] ?? "";
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

const SHOWN_MAX = 5;
/** Older requests are not shown. */
const MISSES_AGE_MS = 15 * MINUTE_MS;
/** Requests have the time of this process, checks that of the database. */
const CLOCKS_APART_MS = 1_000;
const SHOWN_KINDS = { success: "success", start: "start", fail: "fail", log: "log", ign: "ignored" } as const;

/** Requests that match no check of the project are only shown to a server admin in the dashboard. */
export async function readSetup(request: {
  context: ApiContext;
  account: Person | null;
  sessionId: number | null;
  project: Project;
  role: Role;
  check: CheckRecord;
  now: Instant;
}): Promise<CheckSetup> {
  const { context, account, sessionId, project, role, check, now } = request;
  const { uuid, settings } = check;
  const pings = await listPings(context.database, { checkId: check.id, afterN: 0, limit: SHOWN_MAX });
  const wanted = {
    uuid,
    slug: settings.slug,
    // The explanation would show the ping key.
    pingKey: mayDo(role, "manageKeys") ? project.pingKey : null,
    pingPath: basePath(new URL(context.urls.ping)),
  };
  const isAdmin = sessionId !== null && account?.isAdmin === true;
  // Requests from before the check was created were not meant for it.
  const ageMs = Math.min(MISSES_AGE_MS, context.now() - check.createdAt + CLOCKS_APART_MS);
  const unmatched = context.missesSince(Date.now() - ageMs).flatMap((miss): UnmatchedPing[] => {
    const text = explainMiss(miss, wanted) ?? (isAdmin ? explainUnmatched(miss, wanted.pingPath) : null);
    if (text === null) return [];
    const { at, method, remoteAddr, ua } = miss;
    return [{ at, method, remoteAddr, ua, address: `${miss.host}${miss.target}`, text }];
  });
  const address = pingUrl(context.urls, uuid);
  const onlyPost = settings.methods === "POST";
  return {
    now,
    channelCount: check.channelUuids.length,
    pings: pings.map(presentPing),
    unmatched: unmatched.slice(0, SHOWN_MAX),
    curl: curlLine(address, { onlyPost }),
    hints: hintsFor({ address, onlyPost, ignored: pings.some(({ kind }) => kind === "ign") }),
  };
}

function presentPing({ n, at, kind, scheme, method, remoteAddr, ua }: Ping): SetupPing {
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
