// The log of a check as pages show it: all that is kept, newest first. It is a few hundred rows at most, so every view
// of it is cut from the whole.
import { printable } from "../../../channels/words/clip.ts";
import { runDurations } from "../../../core/machine/run-durations.ts";
import { forgottenThrough, pingsListed } from "../../../core/retention.ts";
import { findLogLimits } from "../../../store/checks/ping-targets.ts";
import type { CheckWithState } from "../../../store/checks/checks.ts";
import { listBodyStarts } from "../../../store/history/ping-bodies.ts";
import { listPings, type Ping } from "../../../store/history/pings.ts";
import type { WebHouse } from "../house.ts";

/** How much of a body is shown in a line, in bytes. */
const EXCERPT_BYTES = 150;

/** Whoever knows a ping address can make a check flip as often as they like; more than these are not looked through. */
export const FLIPS_READ_MAX = 10_000;

/** A ping with the duration of the run that it ended, if that can be told. */
export type KeptPing = Ping;

/** What the log keeps of a check, newest first. */
export async function readLog(
  { database, pingLogLimit }: WebHouse,
  check: CheckWithState,
): Promise<KeptPing[]> {
  const limits = await findLogLimits(database, [check.id]);
  const rowsMax = limits.get(check.id) ?? pingLogLimit;
  const pings = await listPings(database, {
    checkId: check.id,
    afterN: forgottenThrough({ pingCount: check.state.pingCount, rowsMax }),
    limit: pingsListed(rowsMax),
  });
  const durations = runDurations(pings);
  return pings.map((ping) => ({ ...ping, durationMs: durations.get(ping.n) ?? null }));
}

/** The beginnings of some bodies, each as one line of text, by the number of the ping. */
export async function readExcerpts(
  { database }: WebHouse,
  { checkId, pings }: { checkId: number; pings: readonly Ping[] },
): Promise<Map<number, string>> {
  const ns = pings.filter(({ bodySize }) => bodySize !== null).map(({ n }) => n);
  if (ns.length === 0) return new Map();
  const starts = await listBodyStarts(database, { checkId, ns, bytes: EXCERPT_BYTES });
  return new Map([...starts].map(([n, start]) => [n, lineOf(start)]));
}

function lineOf(bytes: Uint8Array): string {
  const text = new TextDecoder("utf-8").decode(bytes);
  return printable(text)
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
}
