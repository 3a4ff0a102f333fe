// PostgreSQL is replaced by a copy of itself from the beginning of the run. Its positions are old, too: everything that the
// other parts did since then is read again.
import { setTimeout as sleep } from "node:timers/promises";
import { embeddedPostgres } from "../../../support/postgres-binaries.ts";
import { startPostgres } from "../../../support/postgres.ts";
import { freePort } from "../../../support/ports.ts";
import { type LogPart, PER_SECOND } from "../../log/part.ts";

/** How old the copy is at least. */
const AGE_MS = { full: 3_600_000, quick: 8_000, tiny: 3_000 };
const AFTER_MS = { full: 10_000, quick: 3_000, tiny: 1_000 };

export const restorePart: LogPart = {
  name: "log-restore",
  about: "PostgreSQL is restored from a copy that is an hour old; everything since then is read again, once",
  play: async (log, { size, copy }) => {
    const { stage } = log;
    const load = log.startLoad(PER_SECOND);
    const ageMs = () => performance.now() - copy.takenMs;
    await sleep(Math.max(AFTER_MS[size], AGE_MS[size] - ageMs()));
    const before = await positions(log);
    const restoredAgeS = Math.round(ageMs() / 1_000);
    await stage.postgres.crash();
    const options = { binaries: embeddedPostgres(), keepDataIn: copy.folder, port: await freePort() };
    const restored = await startPostgres(options);
    stage.moveTo(restored);
    const readAgain = before - (await positions(log));
    log.proxy.redirect(restored.port);
    await sleep(AFTER_MS[size]);
    await load.stop();
    const complaints = readAgain > 0 ? [] : ["the copy was not older, so the run proves nothing"];
    return { figures: { restored_age_s: restoredAgeS, records_read_again: readAgain }, complaints };
  },
};

/** How many records were applied. */
async function positions({ stage }: Parameters<LogPart["play"]>[0]): Promise<number> {
  const { rows } = await stage.withClient((client) =>
    client.query<{ sum: string }>("select sum(next_offset) as sum from log_partitions"),
  );
  return Number(rows[0]?.sum ?? 0);
}
