// Whether a request that found nothing was meant for a check, and what is wrong with it, in words. A guess about a
// person's mistake: it only ever explains, and decides nothing. Pure.
import { isUuid } from "../../../core/identity.ts";

export type MissedRequest = { method: string; target: string };

/** What is known of the check that a first ping is waited for. */
export type WaitedFor = {
  uuid: string;
  slug: string;
  pingKey: string | null;
  /** The path in front of a UUID in this installation, such as "/ping". */
  pingPath: string;
};

const METHODS_TAKEN = ["GET", "HEAD", "POST"];
const ACTIONS = "start, fail, log or an exit code from 0 to 255";
const SIGNAL = /^(start|fail|log|\d{1,3})$/;
/** Beyond these it is another UUID, and not a slip. */
const DIFFERENCES_MAX = 4;
const CUT_LENGTH_MIN = 8;
const UUID_LENGTH = 36;

/** What is wrong, as a sentence or two; null when nothing says that this check was meant. */
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
 * What a stranger's request looks like to whoever runs the installation; null when it was no try to ping, or when it
 * may have failed for another reason than that there is no such check.
 */
export function explainStranger({ method, target }: MissedRequest, pingPath: string): string | null {
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

/** How many characters have to be changed, added or removed to make one of the other. */
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
