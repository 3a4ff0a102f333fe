// The channels that a request chooses for a check: looked up in its project, judged by core, and assigned.
import { resolveChannels } from "../../core/request/channels.ts";
import { listChannels } from "../../store/alerts/channels.ts";
import { assignChannels } from "../../store/alerts/check-channels.ts";
import type { Db } from "../../store/db.ts";
import type { Tx } from "../../store/transaction.ts";
import type { Refused } from "./locked-check.ts";

/** Both in the same order, that of the UUIDs. */
export type ChosenChannels = { kind: "chosen"; channelIds: readonly number[]; uuids: readonly string[] };

/** What the `channels` parameter of a request means in a project now, or what is wrong with it. */
export async function chooseChannels(
  db: Db,
  { projectId, param }: { projectId: number; param: string },
): Promise<ChosenChannels | Refused> {
  const channels = param === "" ? [] : await listChannels(db, projectId);
  const resolved = resolveChannels(param, channels);
  if (!resolved.ok) return { kind: "refused", code: "invalid", text: resolved.text };
  const wanted = new Set(resolved.value);
  const chosen = channels
    .filter(({ uuid }) => wanted.has(uuid))
    .toSorted((one, other) => (one.uuid < other.uuid ? -1 : 1));
  return {
    kind: "chosen",
    channelIds: chosen.map(({ id }) => id),
    uuids: chosen.map(({ uuid }) => uuid),
  };
}

/** Makes the chosen ones the channels of a check; true when that is another set than `current`. */
export async function assignChosen(
  tx: Tx,
  { checkId, chosen, current }: { checkId: number; chosen: ChosenChannels; current: readonly string[] },
): Promise<boolean> {
  if (chosen.uuids.join() === current.join()) return false;
  await assignChannels(tx, { checkId, channelIds: chosen.channelIds });
  return true;
}
