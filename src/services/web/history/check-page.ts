// The page of a check, put together from what the other files of this folder read.
import type { CheckChannel, CheckPage } from "../../../contract/web/check-page.ts";
import { channelName } from "../../../contract/web/list-words.ts";
import { pingUrl } from "../../../contract/urls.ts";
import { mayDo, type Role } from "../../../core/access.ts";
import type { Instant } from "../../../core/instant.ts";
import { listChannels } from "../../../store/alerts/channels.ts";
import { findChecksBySlug } from "../../../store/checks/check-search.ts";
import { listFlips } from "../../../store/history/flips.ts";
import { countRejectedSignals } from "../../../store/intakes/rejected-signals.ts";
import type { Project } from "../../../store/accounts/projects.ts";
import { presentRow } from "../checks/one-row.ts";
import type { WebHouse } from "../house.ts";
import type { CheckRecord } from "../route.ts";
import { readAvailability } from "./availability.ts";
import { usualOfLog } from "./durations.ts";
import { expectationOf } from "./expectation.ts";
import { missedAt } from "./explain.ts";
import { type KeptPing, readLog } from "./kept-log.ts";
import { toldFlip } from "./told.ts";

/** Some of the newest may be taken back. */
const LAST_FLIPS_READ = 100;

/** Everything that the page shows at first sight. */
export async function readCheckPage(
  house: WebHouse,
  { check, project, role, now }: { check: CheckRecord; project: Project; role: Role; now: Instant },
): Promise<CheckPage> {
  const [row, log, availability, channels, flips, quarantined, slugUrl] = await Promise.all([
    presentRow(house, { check, now }),
    readLog(house, check),
    readAvailability(house, { check, now }),
    listChannels(house.database, project.id),
    listFlips(house.database, { checkId: check.id, limit: LAST_FLIPS_READ }),
    countRejectedSignals(house.database, check.id),
    // Whoever has the ping key can make checks by it.
    mayDo(role, "manageKeys") ? slugAddress(house, { check, project }) : null,
  ]);
  const lastFlip = flips.find(({ takenBackAt }) => takenBackAt === null);
  return {
    projectId: project.uuid,
    row,
    settings: check.settings,
    version: check.updatedAt,
    readAt: now,
    createdAt: check.createdAt,
    pingCount: check.state.pingCount,
    quarantinedCount: quarantined.count,
    ...lastSuccessOf(check, log),
    addresses: {
      url: pingUrl(house.urls, check.uuid),
      slugUrl,
      mail: house.mailDomain === null ? null : `${check.uuid}@${house.mailDomain}`,
    },
    expectation: expectationOf(check, now),
    ...availability,
    usual: usualOfLog(log),
    channels: channels.map(
      (channel): CheckChannel => ({
        id: channel.uuid,
        kind: channel.kind,
        name: channelName(channel),
        isOn: check.channelUuids.includes(channel.uuid),
        disabledReason: channel.disabledAt === null ? null : (channel.disabledReason ?? ""),
      }),
    ),
    lastFlip: lastFlip === undefined ? null : toldFlip(lastFlip),
    missedAt:
      lastFlip?.to === "down" ? missedAt(check, { flip: lastFlip, before: upTo(log, lastFlip) }) : null,
  };
}

function upTo(log: readonly KeptPing[], flip: { at: Instant }): KeptPing[] {
  return log.filter(({ at }) => at <= flip.at);
}

/** What is up ended with a success last; of every other check the log tells, as far as it goes back. */
function lastSuccessOf(
  { state, lastSuccessN }: CheckRecord,
  log: readonly KeptPing[],
): Pick<CheckPage, "lastSuccessAt" | "hasSucceeded"> {
  const logged = log.find(({ kind }) => kind === "success")?.at ?? null;
  const lastSuccessAt = state.status === "up" ? state.lastPingAt : logged;
  return { lastSuccessAt, hasSucceeded: lastSuccessAt !== null || lastSuccessN !== null };
}

/** The address by key and slug, where it leads to this check and to no other. */
async function slugAddress(
  { database, urls }: WebHouse,
  { check, project }: { check: CheckRecord; project: Project },
): Promise<string | null> {
  const { slug } = check.settings;
  if (project.pingKey === null || slug === "") return null;
  const named = await findChecksBySlug(database, { pingKey: project.pingKey, slug });
  return named.length === 1 ? `${urls.ping}/${project.pingKey}/${slug}` : null;
}
