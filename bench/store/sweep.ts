// "Find due 500": the transaction with which a sweeper claims the checks that it has to look at, moves most of
// them on, and fires for those that have really been silent.
import type { Instant } from "../../src/core/instant.ts";
import {
  findDueStates,
  moveSweep,
  type StoredState,
  writeStates,
} from "../../src/store/checks/check-states.ts";
import { findChecksByIds } from "../../src/store/checks/checks.ts";
import { insertFlips } from "../../src/store/history/flips.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import type { Contender } from "./meter.ts";
import { BATCH_SIZE, rebuildStates, type Scale } from "./scale.ts";

/** After so many claims most checks have been moved on, and the states are made anew. */
const claimsPerFill = (scale: Scale) => Math.floor((scale.checkCount * 0.9) / BATCH_SIZE);

/** Claims, each of the checks that are due next; finding alone is timed into `findMs`. */
export function sweeping(
  scale: Scale,
  { pingsPerCheck, findMs }: { pingsPerCheck: number; findMs: number[] },
): Contender {
  let claims = 0;
  return {
    scale,
    prepare: async () => {
      if (claims++ % claimsPerFill(scale) === 0)
        await rebuildStates(scale, { pingsPerCheck, busyLimit: null });
      const now = await momentWithDue(scale);
      return () => sweepBatch(scale, { now, findMs });
    },
  };
}

/** The moment at which a whole batch is due. */
async function momentWithDue({ admin }: Scale): Promise<Instant> {
  const { rows } = await admin.query<{ at: Date }>(
    "select sweep_at as at from check_states where sweep_at is not null order by sweep_at offset $1 limit 1",
    [BATCH_SIZE - 1],
  );
  const at = rows[0]?.at;
  if (at === undefined) throw new Error("too few checks are waiting for the sweeper");
  return at.getTime();
}

async function sweepBatch(scale: Scale, { now, findMs }: { now: Instant; findMs: number[] }): Promise<void> {
  await inTransaction(scale.database, async (tx) => {
    const begin = performance.now();
    const due = await findDueStates(tx, { through: now, limit: BATCH_SIZE });
    findMs.push(performance.now() - begin);
    if (due.length !== BATCH_SIZE) throw new Error(`found ${due.length} due checks`);
    const isSilent = ({ downAt }: StoredState) => downAt !== null && downAt <= now;
    const silent = due.filter(isSilent);
    await moveSweep(
      tx,
      due.filter((of) => !isSilent(of)).map(({ checkId, downAt }) => ({ checkId, sweepAt: downAt })),
    );
    if (silent.length === 0) return;
    await findChecksByIds(
      tx,
      silent.map(({ checkId }) => checkId),
    );
    await writeStates(tx, silent.map(fired));
    await insertFlips(
      tx,
      silent.map(({ checkId, state, downAt }) => ({
        checkId,
        flip: { at: downAt ?? now, from: state.status, to: "down", reason: "timeout" },
      })),
    );
  });
}

function fired(of: StoredState): StoredState {
  const silence = of.downAt === null ? null : { deadlineAt: of.downAt, from: of.state.status };
  return { ...of, state: { ...of.state, status: "down", silence }, downAt: null, sweepAt: null };
}
