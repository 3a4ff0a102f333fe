// Near misses of the example project: one of each kind that a real project has, with regular requests.
import { randomUUID } from "node:crypto";
import { newUuidIn } from "../../src/core/identity.ts";
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from "../../src/core/instant.ts";
import { addSighting, type Tally } from "../../src/core/near-miss.ts";
import type { Database } from "../../src/store/db.ts";
import { type WrittenNearMiss, writeNearMiss } from "../../src/store/near-misses.ts";
import type { Project } from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";

type Seeded = { id: number; uuid: string; slug: string };

/** Requests at regular times of the last week. */
function tallyOf({ everyMs, lastAt, count }: { everyMs: number; lastAt: Instant; count: number }): Tally {
  let tally = null as Tally | null;
  for (let left = count - 1; left >= 0; left -= 1) {
    const at = lastAt - left * everyMs;
    tally = addSighting(tally, { count: 1, firstAt: at, lastAt: at, arrivals: [at] });
  }
  if (tally === null) throw new Error("a near miss has at least one request");
  return tally;
}

/** Adds them for the first checks; `now` is the time of the newest request. */
export async function addNearMisses(
  database: Database,
  { project, checks, now }: { project: Project; checks: readonly Seeded[]; now: Instant },
): Promise<void> {
  const [first, second, third] = checks.filter(({ slug }) => slug.length > 5);
  if (first === undefined || second === undefined || third === undefined) return;
  const common = { projectId: project.id, deletedName: null, deletedAt: null } as const;
  const swapped = `${first.slug.slice(0, 3)}${first.slug.charAt(4)}${first.slug.charAt(3)}${first.slug.slice(5)}`;
  const wrong = second.uuid.replace(/.$/, (digit) => (digit === "0" ? "1" : "0"));
  const misses: (WrittenNearMiss | null)[] = [
    swapped === first.slug
      ? null
      : {
          ...common,
          kind: "slug",
          bySlug: true,
          address: swapped,
          checkId: first.id,
          method: "POST",
          remoteAddr: "10.0.6.21",
          ua: "curl/8.5.0",
          ...tallyOf({ everyMs: DAY_MS, lastAt: now - 3 * HOUR_MS, count: 7 }),
        },
    {
      ...common,
      kind: "slug",
      bySlug: true,
      address: "warehouse-compact",
      checkId: null,
      method: "GET",
      remoteAddr: "10.0.6.4",
      ua: "Python-urllib/3.13",
      ...tallyOf({ everyMs: 6 * HOUR_MS, lastAt: now - 2 * HOUR_MS, count: 28 }),
    },
    {
      ...common,
      kind: "deleted",
      bySlug: false,
      address: newUuidIn(project.uuid, randomUUID),
      checkId: null,
      deletedName: "cache-warmer-old",
      deletedAt: now - 40 * DAY_MS,
      method: "HEAD",
      remoteAddr: "10.0.6.12",
      ua: "Wget/1.24.5",
      ...tallyOf({ everyMs: 15 * MINUTE_MS, lastAt: now - 6 * MINUTE_MS, count: 672 }),
    },
    {
      ...common,
      kind: "uuid",
      bySlug: false,
      address: wrong,
      checkId: second.id,
      method: "GET",
      remoteAddr: "2001:db8::7",
      ua: "curl/7.61.1",
      ...tallyOf({ everyMs: 31 * HOUR_MS, lastAt: now - 5 * HOUR_MS, count: 3 }),
    },
    {
      ...common,
      kind: "suffix",
      bySlug: false,
      address: `${third.uuid}/stat`,
      checkId: third.id,
      method: "GET",
      remoteAddr: "10.0.6.2",
      ua: "",
      ...tallyOf({ everyMs: 29 * HOUR_MS, lastAt: now - 20 * HOUR_MS, count: 5 }),
    },
  ];
  await inTransaction(database, async (tx) => {
    for (const miss of misses) {
      if (miss !== null) await writeNearMiss(tx, { ...miss, reopenBefore: miss.lastAt });
    }
  });
}
