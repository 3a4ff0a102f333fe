// The baseline: PostgreSQL alone, one transaction for each ping, with the same writes. Prepared statements over the
// server's Unix socket, driven by pgbench, which has almost no overhead.
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

const PGBENCH = "/usr/bin/pgbench";
const THREADS = 2;
const END_GRACE_MS = 60_000;
/** Connecting is part of its run time, but not of its figure. */
const CONNECT_SECONDS = 1;

export type Baseline = {
  /** The database, through the server's Unix socket. */
  url: string;
  scriptPath: string;
  clients: number;
  seconds: number;
};

/** Writes the script for checks with IDs from 1 on; returns its path. */
export async function writeScript(
  folder: string,
  { checkCount, bodyBytes }: { checkCount: number; bodyBytes: number },
): Promise<string> {
  const path = join(folder, `transaction-${checkCount}-${bodyBytes}.sql`);
  const size = bodyBytes === 0 ? "null" : String(bodyBytes);
  const body = `insert into ping_bodies (check_id, n, at, body)
  values (:id, :n, now(), convert_to('${"x1y2z3w4v5".repeat(bodyBytes / 10)}', 'UTF8'));\n`;
  await writeFile(
    path,
    `\\set id random(1, ${checkCount})
begin;
update check_states set last_ping_at = now(), newest_at = now(), rate_minute_at = date_trunc('minute', now()),
    rate_count = 1, down_at = now() + interval '70 minutes', ping_count = ping_count + 1,
    last_success_n = ping_count + 1, day_success_count = day_success_count + 1
  where check_id = :id returning ping_count as n \\gset
insert into pings (at, check_id, n, kind, scheme, method, remote_addr, ua, body_size)
  values (now(), :id, :n, 's', 'http', 'GET', '127.0.0.1', 'curl/8.5.0', ${size});
${bodyBytes === 0 ? "" : body}commit;
`,
  );
  return path;
}

/** Pings per second, one transaction each. */
export async function measureBaseline(baseline: Baseline): Promise<number> {
  const { url, scriptPath, clients, seconds } = baseline;
  const time = String(seconds + CONNECT_SECONDS);
  const how = ["-n", "-M", "prepared", "-c", String(clients), "-j", String(THREADS), "-T", time];
  const { stdout } = await run(PGBENCH, [...how, "-f", scriptPath, url], {
    timeout: seconds * 1_000 + END_GRACE_MS,
    killSignal: "SIGKILL",
  });
  const failed = /number of failed transactions: (\d+)/.exec(stdout)?.[1] ?? "0";
  const tps = /^tps = ([\d.]+)/m.exec(stdout)?.[1];
  if (tps === undefined || failed !== "0") throw new Error(`pgbench did not run well:\n${stdout}`);
  return Number(tps);
}
