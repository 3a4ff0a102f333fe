// An import in a process that is killed at a step and run again, compared with one that was not.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import pg from "pg";

const CHILD = fileURLToPath(new URL("child.ts", import.meta.url));

export type ChildOptions = { checkCount: number; pingsPerCheck: number; now: number; killAt?: number };
export type ChildResult = {
  ms: number;
  steps: number;
  peakMb: number;
  startMb: number;
  projects?: { created: number; pings: number }[];
  takenBack?: number;
  removed?: Record<string, number>;
};

/** Runs the process to its end; null: it was killed. */
export function runChild(
  what: "import" | "finish" | "undo",
  { url, killAt, ...options }: ChildOptions & { url: string },
): Promise<ChildResult | null> {
  const child = spawn(process.execPath, [
    CHILD,
    what,
    url,
    JSON.stringify({ ...options, killAt: killAt ?? null }),
  ]);
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.on("close", (code, signal) => {
      if (signal === "SIGKILL") resolve(null);
      else if (code === 0) resolve(JSON.parse(out) as ChildResult);
      else reject(new Error(`the process ended with ${code}: ${err}`));
    });
  });
}

/** What differs from run to run: ids, and times of the import itself. */
const CONTENTS: Readonly<Record<string, string>> = {
  accounts: "select email, name from accounts order by email",
  projects: "select uuid, name, ping_key, badge_key from projects order by uuid",
  channels: "select uuid, kind, name, config from channels order by uuid",
  checks:
    "select uuid, badge_uuid, name, slug, tags, kind, timeout_seconds, created_at from checks order by uuid",
  states: `select c.uuid, s.status, s.ping_count, s.last_ping_at, s.down_at, s.last_success_n, s.day, s.day_success_count
    from check_states s join checks c on c.id = s.check_id order by c.uuid`,
  pings: `select c.uuid, p.n, p.at, p.kind, p.body_size, p.ua from pings p join checks c on c.id = p.check_id
    order by c.uuid, p.n`,
  bodies:
    "select c.uuid, b.n, b.body from ping_bodies b join checks c on c.id = b.check_id order by c.uuid, b.n",
  flips: `select c.uuid, f.at, f.from_status, f.to_status, f.reason from flips f join checks c on c.id = f.check_id
    order by c.uuid, f.at`,
  links: `select c.uuid, ch.uuid as channel from check_channels cc join checks c on c.id = cc.check_id
    join channels ch on ch.id = cc.channel_id order by 1, 2`,
  days: `select c.uuid, d.day, d.success_count, d.fail_count from check_days d join checks c on c.id = d.check_id
    order by c.uuid, d.day`,
  alerts: `select c.uuid, a.opened_at, a.cause, a.closed_at, a.notified_at is not null as told
    from alerts a join checks c on c.id = a.check_id order by c.uuid, a.opened_at`,
  silences:
    "select p.uuid, s.ended_at is null as active from silences s join projects p on p.id = s.project_id order by 1",
  deliveries: "select kind, state from deliveries",
};

/** A digest of the contents of a database, by table. */
export async function digestOf(url: string): Promise<Record<string, string>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const digests: Record<string, string> = {};
    for (const [name, sql] of Object.entries(CONTENTS)) {
      const { rows } = await client.query(
        `select count(*)::int as count, coalesce(md5(string_agg(md5(t::text), '')), '') as digest from (${sql}) as t`,
      );
      const [row] = rows as { count: number; digest: string }[];
      digests[name] = `${row?.count} ${row?.digest}`;
    }
    return digests;
  } finally {
    await client.end();
  }
}

/** Steps at which a run of so many steps is killed: the first ones, the last ones, and some between. */
export function killSteps(steps: number, count: number): number[] {
  const spread = Array.from(
    { length: count },
    (_, index) => 1 + Math.floor((index * (steps - 1)) / Math.max(1, count - 1)),
  );
  return [...new Set([1, 2, 3, ...spread, steps - 1, steps])].filter((step) => step >= 1 && step <= steps);
}

export function shortDigest(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 12);
}
