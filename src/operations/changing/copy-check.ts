// Makes another check with the settings and the channels of one that is there.
import { type CheckSettings, mayCreateCheck } from "../../core/check.ts";
import { ERROR_TEXT } from "../../core/errors.ts";
import { NAME_LENGTH_MAX, SLUG_LENGTH_MAX } from "../../core/limits.ts";
import type { Database } from "../../store/db.ts";
import type { Command } from "../change-check.ts";
import { auditCheck } from "./audit-check.ts";
import { chooseChannels } from "./chosen-channels.ts";
import { type LimitDefault, lockQuota, makeCheck } from "./creation.ts";
import {
  type Absent,
  channelUuidsOf,
  type CheckWithChannels,
  lockCheck,
  type Refused,
} from "./locked-check.ts";
import { inRetriedTransaction } from "./retried.ts";

/** Copies a check. Refused: its owner has as many checks as they may have. */
export function copyCheck(
  database: Database,
  request: Command & LimitDefault,
): Promise<{ kind: "copied"; check: CheckWithChannels } | Refused | Absent> {
  const { projectId, at } = request;
  return inRetriedTransaction(database, async (tx) => {
    const locked = await lockCheck(tx, request);
    if ("kind" in locked) return locked;
    const quota = await lockQuota(tx, request);
    if (quota === null) return { kind: "not found" };
    if (!mayCreateCheck(quota)) return { kind: "refused", code: "forbidden", text: ERROR_TEXT.checkLimit };
    const param = (await channelUuidsOf(tx, locked.check.id)).join(",");
    const channels = await chooseChannels(tx, { projectId, param });
    if (channels.kind === "refused") return channels;
    const settings = copied(locked.check.settings);
    const check = await makeCheck(tx, { projectId, settings, channels, at });
    const after = { copyOf: locked.check.uuid };
    await auditCheck(tx, { what: "check.created", check, by: request, at, after });
    return { kind: "copied", check };
  });
}

const NAME_MARK = " (copy)";
const SLUG_MARK = "-copy";

function copied(settings: CheckSettings): CheckSettings {
  const name = Array.from(settings.name);
  const room = NAME_LENGTH_MAX - NAME_MARK.length;
  const kept = name.length > room ? `${name.slice(0, room - 3).join("")}...` : settings.name;
  const slug = settings.slug === "" ? "" : `${settings.slug}${SLUG_MARK}`;
  return {
    ...settings,
    name: settings.name === "" ? "" : `${kept}${NAME_MARK}`,
    slug: slug.length > SLUG_LENGTH_MAX ? "" : slug,
  };
}
