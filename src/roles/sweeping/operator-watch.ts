// Watches over the installation, beside the sweeper and in processes without one: what is the matter is logged, counted, and told to the channel of
// whoever runs it, once when it begins and once when it is over.
import { type Trouble, troublesOf } from "../../core/alerts/operator.ts";
import { SECOND_MS } from "../../core/instant.ts";
import { type Loop, loopService } from "../../lib/loop.ts";
import { addFigures } from "../../lib/metrics.ts";
import { observeInstallation, tellOperator } from "../../operations/alerts/sweeping/operator-incidents.ts";
import { lookAtIntakes } from "../../operations/intake-beat.ts";
import type { SweeperParts } from "./parts.ts";
import { whileInService } from "../in-service.ts";

const OBSERVE_EVERY_MS = 5 * SECOND_MS;

export type OperatorWatch = Loop & {
  /** What is the matter, as of the last look; null: there was none yet. */
  troubles(): readonly Trouble[] | null;
};

/** What the watch of a process without a sweeper knows of its work. */
const NO_SWEEPER: WatchedState = { unsettledSinceAt: null, locked: new Map() };

type WatchedState = Pick<SweeperParts["state"], "unsettledSinceAt" | "locked">;
type WatchParts = Omit<SweeperParts, "state"> & { state?: WatchedState };

export function operatorLoop({
  config,
  database,
  log,
  metrics,
  state = NO_SWEEPER,
}: WatchParts): OperatorWatch {
  let troubles: readonly Trouble[] | null = null;
  addFigures(metrics, [
    {
      name: "overdue_troubles",
      help: "Current health problems of the server by kind.",
      kind: "gauge",
      label: "trouble",
      readEach: () => countByKind(troubles ?? []),
    },
  ]);
  const loop = loopService("operator-watch", {
    idleMs: OBSERVE_EVERY_MS,
    log,
    metrics: metrics.loops,
    // A copy tells its admin once that it is one, and nothing else.
    tick: whileInService(database, async () => {
      const { unsettledSinceAt, locked } = state;
      const look = await lookAtIntakes(database);
      const channelUuid = config.adminChannel;
      const own = { look, unsettledSinceAt, locked, channelUuid };
      troubles = troublesOf(await observeInstallation(database, own));
      for (const message of await tellOperator(database, { troubles, now: look.now, channelUuid })) {
        const { trouble, isOver, since, title, text } = message;
        const fields = { trouble, since: new Date(since).toISOString(), text };
        if (isOver) log.info(fields, title);
        else log.warn(fields, title);
      }
      return "idle";
    }),
  });
  return { ...loop, troubles: () => troubles };
}

function countByKind(troubles: readonly Trouble[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of troubles) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
