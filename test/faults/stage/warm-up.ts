// Makes every check known to every process by UUID and slug, because a process may reject signals of unknown checks
// while the database is down.
import { setTimeout as sleep } from "node:timers/promises";
import { isAcknowledged } from "../signals/send.ts";
import type { Target } from "../signals/outgoing.ts";
import type { PingProcess } from "./ping-process.ts";
import type { Stage } from "./stage.ts";

const TOGETHER_MAX = 50;
/**
 * After this, the known checks of a process are on its disk; see the interval in
 * src/intake/known-checks.ts.
 */
const KEPT_AFTER_MS = 4_000;

/** Returns when the checks are known to the processes, even after a crash. */
export async function warmUp(
  stage: Stage,
  processes: readonly PingProcess[],
  targets: readonly Target[] = stage.targets,
): Promise<void> {
  const { maker } = stage.ledger;
  const calls = processes.flatMap(({ port }) =>
    targets.flatMap((target) => [true, false].map((bySlug) => ({ port, target, bySlug }))),
  );
  for (let at = 0; at < calls.length; at += TOGETHER_MAX) {
    const entries = await Promise.all(
      calls
        .slice(at, at + TOGETHER_MAX)
        .map(({ port, target, bySlug }) =>
          stage.ledger.send(maker.make(target, { kind: "s", bySlug }), port),
        ),
    );
    const failed = entries.find((entry) => !isAcknowledged(entry));
    if (failed !== undefined) {
      throw new Error(`before anything was broken, a signal was answered ${failed.status} ${failed.trouble}`);
    }
  }
  await sleep(KEPT_AFTER_MS);
}
