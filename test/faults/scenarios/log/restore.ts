// PostgreSQL is replaced by an older copy of itself. Its positions are old, too, and everything after them is read again.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { embeddedPostgres } from "../../../support/postgres-binaries.ts";
import { startPostgres } from "../../../support/postgres.ts";
import { freePort } from "../../../support/ports.ts";
import { type LogPart, PER_SECOND } from "../../log/part.ts";
import { copyCluster } from "../../stage/copies.ts";

const AGE_MS = { full: 120_000, quick: 8_000, tiny: 3_000 };
const AFTER_MS = { full: 10_000, quick: 3_000, tiny: 1_000 };

export const restorePart: LogPart = {
  name: "log-restore",
  about: "PostgreSQL is restored from an older copy; everything after it is read again, once",
  play: async (log, { size }) => {
    const { stage } = log;
    const load = log.startLoad(PER_SECOND);
    await sleep(AFTER_MS[size]);
    const folder = join(stage.folder, "backup");
    await copyCluster(stage.postgres, folder);
    await sleep(AGE_MS[size]);
    const before = await positions(log);
    await stage.postgres.crash();
    const options = { binaries: embeddedPostgres(), keepDataIn: folder, port: await freePort() };
    const restored = await startPostgres(options);
    stage.moveTo(restored);
    const readAgain = before - (await positions(log));
    log.proxy.redirect(restored.port);
    await sleep(AFTER_MS[size]);
    await load.stop();
    const complaints = readAgain > 0 ? [] : ["the copy was not older, so the run proves nothing"];
    return { figures: { restored_age_s: AGE_MS[size] / 1_000, records_read_again: readAgain }, complaints };
  },
};

/** How many records were applied. */
async function positions({ stage }: Parameters<LogPart["play"]>[0]): Promise<number> {
  const { rows } = await stage.withClient((client) =>
    client.query<{ sum: string }>("select sum(next_offset) as sum from log_partitions"),
  );
  return Number(rows[0]?.sum ?? 0);
}
