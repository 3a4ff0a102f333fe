// The database is replaced under load: by a synchronous standby, which has every commit, or by one that lacks the newest
// commits, which is a standby that was a second behind or an older backup. Recently acknowledged signals are sent again;
// older ones are recorded as a monitoring gap.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { startPostgres } from "../../support/postgres.ts";
import { embeddedPostgres } from "../../support/postgres-binaries.ts";
import { conclude } from "../conclusion.ts";
import { bySize, type Result, type Scenario } from "../scenario.ts";
import type { Load } from "../signals/load.ts";
import { copyCluster, makeStandby, SlowLink } from "../stage/copies.ts";
import { readBlind } from "../stage/intake-rows.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import { freePort } from "../../support/ports.ts";
import type { DatabaseProxy } from "../stage/proxy.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { warmUp } from "../stage/warm-up.ts";
import { demand } from "../waiting.ts";

const CHECKS = 300;
const PER_SECOND = 100;
const LAG_MS = 1_000;
const SETTLE_MS = 5_000;
/** How long a process keeps confirmed batches; see src/intake/recorder.ts. */
const REMEMBERED_MS = 60_000;

export const failover: Scenario = {
  name: "failover",
  about: "a standby one second behind is promoted under load; missing batches are sent again",
  run: (run) => onStage(run, { checks: CHECKS }, (stage) => promoteStandby(stage, { isSynchronous: false })),
};

export const failoverSync: Scenario = {
  name: "failover-sync",
  about: "a synchronous standby is promoted under load; it has every acknowledged ping",
  run: (run) => onStage(run, { checks: CHECKS }, (stage) => promoteStandby(stage, { isSynchronous: true })),
};

export const restore: Scenario = {
  name: "restore",
  about: "an older backup replaces the database under load; recent batches are sent again",
  run: (run) => {
    const ageMs = bySize(run, { full: 30_000, quick: 10_000, tiny: 5_000 });
    return onStage(run, { checks: CHECKS }, (stage) => restoreBackup(stage, ageMs));
  },
};

export const restoreOld: Scenario = {
  name: "restore-old",
  about: "a backup older than any kept batch: the missing time is recorded as blind",
  run: (run) => onStage(run, { checks: CHECKS }, (stage) => restoreBackup(stage, REMEMBERED_MS + 30_000)),
};

type Cast = { proxy: DatabaseProxy; processes: PingProcess[]; load: Load };

async function setUp(stage: Stage): Promise<Cast> {
  const proxy = await stage.proxy();
  const databaseUrl = proxy.urlFor(stage.url);
  const processes = [
    await stage.receiver({ name: "one", databaseUrl }),
    await stage.receiver({ name: "two", databaseUrl }),
  ];
  await Promise.all(processes.map((one) => one.start()));
  await warmUp(stage, processes);
  const ports = processes.map(({ port }) => port);
  const load = stage.ledger.startLoad({ targets: stage.targets, ports, perSecond: PER_SECOND });
  return { proxy, processes, load };
}

async function promoteStandby(stage: Stage, { isSynchronous }: { isSynchronous: boolean }): Promise<Result> {
  const { proxy, load } = await setUp(stage);
  const link = await SlowLink.open({ targetPort: stage.postgres.port, delayMs: isSynchronous ? 0 : LAG_MS });
  const folder = join(stage.folder, "standby");
  await copyCluster(stage.postgres, folder);
  makeStandby(folder);
  const standby = await startPostgres({
    binaries: embeddedPostgres(),
    keepDataIn: folder,
    port: await freePort(),
    settings: { primary_conninfo: `host=127.0.0.1 port=${link.port} user=overdue application_name=standby` },
  });
  await demand(() => isStreaming(stage), { withinMs: 30_000, what: "the standby follows" });
  // Not in the copied configuration: the standby must not wait for one of its own after it is promoted.
  if (isSynchronous) {
    await query(stage.url, "alter system set synchronous_standby_names = 'standby'");
    await query(stage.url, "select pg_reload_conf()");
    await demand(() => isInSync(stage), { withinMs: 30_000, what: "the standby is synchronous" });
  }
  await sleep(SETTLE_MS);
  stage.run.say("the standby is promoted");
  const newestBefore = await newestPing(stage.url);
  const crashedAtMs = performance.now();
  link.cut();
  await stage.postgres.crash();
  await query(standby.url(), "select pg_promote(true, 30)");
  const behindMs = Math.max(0, newestBefore - (await newestPing(standby.url("overdue"))));
  stage.moveTo(standby);
  proxy.redirect(standby.port);
  const promotedMs = Math.round(performance.now() - crashedAtMs);
  await sleep(SETTLE_MS);
  await load.stop();
  const isAsExpected = isSynchronous === (behindMs === 0);
  const complaint = isSynchronous
    ? "the synchronous standby lacked acknowledged pings"
    : "the standby was not behind, so the run proves nothing";
  const figures = { behind_ms: behindMs, promoted_ms: promotedMs };
  return conclude(stage, { figures, complaints: isAsExpected ? [] : [complaint] });
}

async function restoreBackup(stage: Stage, ageMs: number): Promise<Result> {
  const { proxy, load } = await setUp(stage);
  await sleep(SETTLE_MS);
  const folder = join(stage.folder, "backup");
  const copiedAt = Date.now();
  await copyCluster(stage.postgres, folder);
  stage.run.say(`a backup is taken and restored in ${ageMs / 1_000} s`);
  await sleep(ageMs);
  const crashedAt = Date.now();
  await stage.postgres.crash();
  const restored = await startPostgres({
    binaries: embeddedPostgres(),
    keepDataIn: folder,
    port: await freePort(),
  });
  stage.moveTo(restored);
  proxy.redirect(restored.port);
  await sleep(SETTLE_MS);
  await load.stop();
  const beyond = await beyondMemory(stage, { copiedAt, crashedAt });
  const result = await conclude(stage, {
    figures: { backup_age_seconds: ageMs / 1_000, beyond_memory: beyond.markers.size },
    forgiven: beyond.markers,
  });
  if (beyond.markers.size === 0) return result;
  const blind = await stage.withClient(readBlind);
  const isOnRecord = blind.some(({ from, to }) => from <= beyond.until && (to ?? Infinity) >= copiedAt);
  const complaint = "signals that could not be sent again are lost, and their time is not recorded as blind";
  return isOnRecord ? result : { ...result, complaints: [...result.complaints, complaint] };
}

/** Confirmed after the backup, and too long before the crash to be kept. */
async function beyondMemory(
  stage: Stage,
  { copiedAt, crashedAt }: { copiedAt: number; crashedAt: number },
): Promise<{ markers: ReadonlySet<string>; until: number }> {
  const untilAt = crashedAt - REMEMBERED_MS + SETTLE_MS;
  const markers = new Set<string>();
  for await (const { marker, sentAt, ms } of stage.ledger.entries()) {
    if (sentAt + ms >= copiedAt && sentAt <= untilAt) markers.add(marker);
  }
  return { markers, until: untilAt };
}

async function isStreaming(stage: Stage): Promise<boolean> {
  const [row] = await query<{ streaming: boolean }>(
    stage.url,
    "select state = 'streaming' as streaming from pg_stat_replication",
  );
  return row?.streaming === true;
}

async function isInSync(stage: Stage): Promise<boolean> {
  const [row] = await query<{ is_sync: boolean }>(
    stage.url,
    "select sync_state = 'sync' as is_sync from pg_stat_replication",
  );
  return row?.is_sync === true;
}

async function newestPing(url: string): Promise<number> {
  const [row] = await query<{ at: Date | null }>(url, "select max(at) as at from pings");
  return row?.at?.getTime() ?? 0;
}

async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}
