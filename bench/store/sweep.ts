// "Find due 500": the transaction in which a sweeper claims the checks that are due, moves most of them on, and fires
// for those that have really been silent.
import type { Instant } from "../../src/core/instant.ts";
import {
  findChecksByIds,
  findDueStates,
  moveSweep,
  type StoredState,
  writeStates,
} from "../../src/store/checks.ts";
import { insertFlips } from "../../src/store/flips.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import type { Contender } from "./meter.ts";
import { note, type Profile, timed } from "./profile.ts";
import { BATCH_SIZE, COMMIT_TIMEOUT_MS, rebuildStates, type Scale } from "./scale.ts";

/** After this many claims most checks have been moved on, and the states are rebuilt. */
const claimsPerFill = (scale: Scale) => Math.floor((scale.checkCount * 0.9) / BATCH_SIZE);

/** Claims, each of the checks that are due next. */
export function sweeping(
  scale: Scale,
  { pingsPerCheck, profile }: { pingsPerCheck: number; profile: Profile },
): Contender {
  let claims = 0;
  return {
    scale,
    prepare: async () => {
      if (claims++ % claimsPerFill(scale) === 0)
        await rebuildStates(scale, { pingsPerCheck, busyLimit: null });
      const now = await momentWithDue(scale);
      return () => sweepBatch(scale, { now, profile });
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

async function sweepBatch(scale: Scale, { now, profile }: { now: Instant; profile: Profile }): Promise<void> {
  let committing = 0;
  const work = async (plain: Tx) => {
    const tx = timed(plain, profile);
    const due = await findDueStates(tx, { through: now, limit: BATCH_SIZE });
    if (due.length !== BATCH_SIZE) throw new Error(`found ${due.length} due checks`);
    const isSilent = ({ downAt }: StoredState) => downAt !== null && downAt <= now;
    const silent = due.filter(isSilent);
    await moveSweep(
      tx,
      due.filter((of) => !isSilent(of)).map(({ checkId, downAt }) => ({ checkId, sweepAt: downAt })),
    );
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
    committing = performance.now();
  };
  await inTransaction(scale.database, work, { commitTimeoutMs: COMMIT_TIMEOUT_MS });
  note(profile, "commit", performance.now() - committing);
}

function fired(of: StoredState): StoredState {
  const missed = of.downAt === null ? null : { deadlineAt: of.downAt, from: of.state.status };
  return { ...of, state: { ...of.state, status: "down", missed }, downAt: null, sweepAt: null };
}
