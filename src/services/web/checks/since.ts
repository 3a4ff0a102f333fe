// What has happened in a project since somebody looked last: what broke, what healed, what is new.
import type { SinceAway } from "../../../contract/web/boot.ts";
import { DAY_MS, MINUTE_MS } from "../../../core/instant.ts";
import { noteVisit } from "../../../operations/accounts/visits.ts";
import { countChecksMadeSince } from "../../../store/accounts/visits.ts";
import { listDownSince } from "../../../store/history/newest-flips.ts";
import type { ProjectAsk } from "../route.ts";

/** Whoever comes back sooner was not away. */
const AWAY_MS_MIN = 30 * MINUTE_MS;
/** Nobody reads what happened longer ago. */
const AWAY_DAYS_MAX = 14;
const NAMED_MAX = 50;

/** Notes the visit, and tells what has happened since the last one; null: nothing, or nobody was away. */
export async function sinceAway({ house, project, account, now }: ProjectAsk): Promise<SinceAway | null> {
  const { database } = house;
  const projectId = project.id;
  const lastAt = await noteVisit(database, { projectId, accountId: account.id, at: now });
  if (lastAt === null || now - lastAt < AWAY_MS_MIN) return null;
  const since = Math.max(lastAt, now - AWAY_DAYS_MAX * DAY_MS);
  const [went, added] = await Promise.all([
    listDownSince(database, { projectId, since, limit: NAMED_MAX }),
    countChecksMadeSince(database, { projectId, since }),
  ]);
  if (went.length === 0 && added === 0) return null;
  const named = (isDown: boolean) =>
    went.filter((one) => one.isDown === isDown).map(({ uuid, name }) => ({ id: uuid, name }));
  return { sinceAt: since, broke: named(true), healed: named(false), added };
}
