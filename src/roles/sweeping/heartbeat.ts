// Calls an address outside each minute, but only while deadlines are looked at, the watermark moves and messages leave:
// whoever expects the call notices when this installation stands still, however that came about.
import { isMoving, type Trouble } from "../../core/alerts/operator.ts";
import { type Instant, MINUTE_MS, SECOND_MS } from "../../core/instant.ts";
import { type Loop, loopService } from "../../lib/loop.ts";
import { addFigures } from "../../lib/metrics.ts";
import { type GuardedHttp, guardedHttp } from "../../lib/outgoing/guarded-http.ts";
import { readDatabaseClock } from "../../store/instance.ts";
import type { SweeperParts } from "./parts.ts";
import { whileInService } from "../in-service.ts";

const CALL_EVERY_MS = MINUTE_MS;
/** How often it is asked whether a call is due, and whether there is a reason to withhold it. */
const ASK_EVERY_MS = SECOND_MS;
const CALL_MS_MAX = 10 * SECOND_MS;
const OK_FROM = 200;
const OK_BELOW = 300;

export type HeartbeatParts = SweeperParts & { troubles: () => readonly Trouble[] | null };

/** The loop that calls; none without an address. */
export function heartbeatLoop({ config, database, log, metrics, state, troubles }: HeartbeatParts): Loop[] {
  const url = config.heartbeatUrl;
  if (url === null) return [];
  const beats = { sent: 0, failed: 0, isWithheld: false, lastAt: null as Instant | null };
  addHeartbeatFigures(metrics, beats);
  // The operator has chosen the address, and may well have a second installation in the same network.
  const http = guardedHttp({ allowPrivate: true, userAgent: "Overdue", proxyUrl: config.outgoingProxy });
  const tick = async () => {
    const now = await readDatabaseClock(database);
    const known = troubles();
    // Before the first look there is nothing to say, and nothing to withhold.
    if (known === null || (beats.lastAt !== null && Math.abs(now - beats.lastAt) < CALL_EVERY_MS)) return;
    const isWithheld = !isMoving(known, { sweptAt: state.sweptAt, now });
    if (isWithheld && !beats.isWithheld) {
      log.warn(
        { troubles: known.map(({ kind }) => kind) },
        "the external heartbeat is withheld because of health problems",
      );
    }
    beats.isWithheld = isWithheld;
    if (isWithheld) return;
    beats.lastAt = now;
    const trouble = await call(http, url);
    if (trouble === null) beats.sent += 1;
    else {
      beats.failed += 1;
      log.warn({ trouble }, "the external heartbeat request failed");
    }
  };
  const loop = loopService("heartbeat", {
    idleMs: ASK_EVERY_MS,
    log,
    metrics: metrics.loops,
    // The one who expects the call must notice when only a copy is left.
    tick: whileInService(database, async () => {
      await tick();
      return "idle";
    }),
  });
  return [
    {
      ...loop,
      stop: async () => {
        await http.close();
        await loop.stop();
      },
    },
  ];
}

function addHeartbeatFigures(
  metrics: SweeperParts["metrics"],
  beats: { sent: number; failed: number; isWithheld: boolean },
): void {
  addFigures(metrics, [
    {
      name: "overdue_heartbeats_total",
      help: "Requests to OVERDUE_HEARTBEAT_URL by result.",
      kind: "counter",
      label: "result",
      readEach: () => ({ sent: beats.sent, failed: beats.failed }),
    },
    {
      name: "overdue_heartbeat_withheld",
      help: "1 while the external heartbeat is withheld because of health problems.",
      kind: "gauge",
      read: () => Number(beats.isWithheld),
    },
  ]);
}

/** Why the call did not arrive, or null. Nothing of the address is in it. */
async function call(http: GuardedHttp, url: string): Promise<string | null> {
  try {
    const { status } = await http.send({ method: "GET", url, timeoutMs: CALL_MS_MAX });
    return status >= OK_FROM && status < OK_BELOW ? null : `HTTP ${status}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
