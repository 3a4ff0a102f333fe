// Changes the settings and the channels of a locked check, and what follows from them for its state: a deadline
// that has passed counts by the old settings, the next one by the new.
import { type CheckParams, type CheckSettings, patchCheck } from "../../core/check.ts";
import type { Instant } from "../../core/instant.ts";
import { passDeadlines, type Sight } from "../../core/machine/deadline.ts";
import { updateCheck as writeSettings } from "../../store/checks/checks.ts";
import type { Tx } from "../../store/transaction.ts";
import { ownSight } from "../recording/own-sight.ts";
import { auditCheck } from "./audit-check.ts";
import { assignChosen, chooseChannels } from "./chosen-channels.ts";
import {
  channelUuidsOf,
  type CheckWithChannels,
  type LockedCheck,
  present,
  type Refused,
} from "./locked-check.ts";
import { OvertakenError } from "./retried.ts";
import { writeStateChange } from "./state-change.ts";

export type Edit = {
  params: CheckParams;
  /** The `channels` parameter; null when it is not given, and the channels stay. */
  channels: string | null;
  /** Whether a given name makes the slug; see core/check.ts. */
  deriveSlug: boolean;
  /** Who edits; null when it is a key and not a person. */
  accountId: number | null;
  keyId?: number | null;
  at: Instant;
  /** How far we have seen, for a deadline that passed before the edit. */
  sight: Sight;
};

/** How much of a text the history keeps: a description may have megabytes, and be edited every minute. */
const HISTORY_TEXT_LENGTH_MAX = 200;

/** Edits a check. What is the same as before is not written, so that a repeated request leaves no trace. */
export async function editCheck(
  tx: Tx,
  { check, stored }: LockedCheck,
  edit: Edit,
): Promise<{ kind: "edited"; check: CheckWithChannels; isChanged: boolean } | Refused> {
  const { projectId, id: checkId } = check;
  const { at, accountId } = edit;
  const chosen =
    edit.channels === null ? null : await chooseChannels(tx, { projectId, param: edit.channels });
  if (chosen?.kind === "refused") return chosen;
  const settings = patchCheck(check.settings, edit.params, edit);
  const patch = differences({ before: check.settings, after: settings });
  const current = await channelUuidsOf(tx, checkId);
  const isReassigned = chosen !== null && (await assignChosen(tx, { checkId, chosen, current }));
  const isChanged = isReassigned || Object.keys(patch).length > 0;
  const written = isChanged ? await writeSettings(tx, { checkId, patch, at }) : check;
  if (written === null) throw new OvertakenError("The check was moved to the trash.");
  const before = differences({ before: settings, after: check.settings });
  const detail = {
    before: shortened(isReassigned ? { ...before, channels: current } : before),
    after: shortened(isReassigned ? { ...patch, channels: chosen.uuids } : patch),
  };
  const passage = passDeadlines(
    { timing: check.settings, state: stored.state },
    { sight: await ownSight(tx, stored, edit), beforeAt: at },
  );
  const next = await writeStateChange(tx, {
    ...passage,
    // What cannot be seen yet is left to the sweeper, and to the settings that hold then.
    unseen: null,
    stored,
    timing: settings,
    event: isChanged ? { kind: "edited", accountId, detail } : null,
    at,
  });
  if (isChanged) await auditCheck(tx, { what: "check.changed", check: written, by: edit, at, ...detail });
  const uuids = chosen?.uuids ?? current;
  return { kind: "edited", check: present({ check: written, stored: next }, uuids), isChanged };
}

/** The fields of `after` that `before` has otherwise. */
export function differences({
  before,
  after,
}: Record<"before" | "after", CheckSettings>): Partial<CheckSettings> {
  const names = Object.keys(after) as (keyof CheckSettings)[];
  return Object.fromEntries(
    names.filter((name) => before[name] !== after[name]).map((name) => [name, after[name]]),
  );
}

function shortened(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, shortenedValue(value)]));
}

function shortenedValue(value: unknown): unknown {
  if (typeof value !== "string" || value.length <= HISTORY_TEXT_LENGTH_MAX) return value;
  // By code points, because half of a surrogate pair cannot be stored.
  const characters = Array.from(value.slice(0, 2 * HISTORY_TEXT_LENGTH_MAX));
  return `${characters.slice(0, HISTORY_TEXT_LENGTH_MAX).join("")}…`;
}
