// What can be done with checks, one or many: asks the server, says what was done, and offers the way back. Rows change
// on screen when the server has answered, never before.
import { BULK_CHECKS_MAX } from "../../../src/contract/web/requests/sizes.ts";
import { checkName } from "../../../src/contract/web/list-words.ts";
import type { BulkAnswer, BulkRequest } from "../../../src/contract/web/requests/checks.ts";
import type { CheckRow } from "../../../src/contract/web/check-row.ts";
import { send } from "../../api/api.ts";
import { copyText } from "../../ui/copy.tsx";
import { toast, toastTrouble } from "../../ui/toast.tsx";
import { actionWords } from "../../words/check-actions.ts";
import { boot } from "../../boot/boot.ts";

type Deed = Omit<BulkRequest, "ids">;

/** The address that a job sends its signals to. */
function pingUrl(id: string): string {
  return `${boot.site.pingUrl}/${id}`;
}

/** Does something with many checks of a project, in as many requests as it takes. */
async function inBulk(project: string, ids: readonly string[], deed: Deed): Promise<BulkAnswer> {
  const all: BulkAnswer = { done: [], refused: [] };
  for (let from = 0; from < ids.length; from += BULK_CHECKS_MAX) {
    const body = { ids: ids.slice(from, from + BULK_CHECKS_MAX), ...deed };
    const answer = await send<BulkAnswer>("POST", `/projects/${project}/bulk`, body);
    all.done.push(...answer.done);
    all.refused.push(...answer.refused);
  }
  return all;
}

type Told = { deed: Deed; said: string; back: Deed | null; project: string; rows: readonly CheckRow[] };

/** Does it, says so, and offers to take it back for those that were changed. */
async function perform({ project, rows, deed, said, back }: Told): Promise<boolean> {
  try {
    const ids = rows.map(({ id }) => id);
    const { done, refused } = await inBulk(project, ids, deed);
    const [first] = refused;
    if (first !== undefined)
      toast({ kind: "trouble", text: actionWords.refused(refused.length, first.error) });
    if (done.length === 0) return refused.length === 0;
    toast({ text: said, ...(back !== null && { undo: () => inBulk(project, done, back) }) });
    return true;
  } catch (error) {
    toastTrouble(error);
    return false;
  }
}

/** "nightly-backup" or "3 checks". */
function named(rows: readonly CheckRow[]): string {
  const [first] = rows;
  return rows.length === 1 && first !== undefined ? checkName(first) : actionWords.many(rows.length);
}

export function pauseChecks(project: string, chosen: readonly CheckRow[]): Promise<boolean> {
  const rows = chosen.filter(({ state }) => state !== "paused");
  if (rows.length === 0) return Promise.resolve(true);
  const said = actionWords.paused(named(rows));
  return perform({ project, rows, deed: { do: "pause" }, said, back: { do: "resume" } });
}

export function resumeChecks(project: string, chosen: readonly CheckRow[]): Promise<boolean> {
  const rows = chosen.filter(({ state }) => state === "paused");
  if (rows.length === 0) return Promise.resolve(true);
  const said = actionWords.resumed(named(rows));
  return perform({ project, rows, deed: { do: "resume" }, said, back: { do: "pause" } });
}

export function deleteChecks(project: string, rows: readonly CheckRow[]): Promise<boolean> {
  const said = actionWords.deleted(named(rows));
  return perform({ project, rows, deed: { do: "delete" }, said, back: { do: "restore" } });
}

/** Adds a tag, or takes it off; the way back leaves alone those that had it, or had it not, before. */
export function tagChecks(
  project: string,
  chosen: readonly CheckRow[],
  { tag, isOn }: { tag: string; isOn: boolean },
) {
  const rows = chosen.filter(({ tags }) => tags.includes(tag) !== isOn);
  const deed: Deed = { do: isOn ? "addTag" : "removeTag", tag };
  const back: Deed = { do: isOn ? "removeTag" : "addTag", tag };
  const said = isOn ? actionWords.tagged(named(rows), tag) : actionWords.untagged(named(rows), tag);
  return rows.length === 0 ? Promise.resolve(true) : perform({ project, rows, deed, said, back });
}

/** Lets a channel hear of the checks, or not any more. */
export function connectChecks(
  project: string,
  rows: readonly CheckRow[],
  { channel, name, isOn }: { channel: string; name: string; isOn: boolean },
): Promise<boolean> {
  const deed: Deed = { do: isOn ? "addChannel" : "removeChannel", channel };
  const back: Deed = { do: isOn ? "removeChannel" : "addChannel", channel };
  const said = isOn ? actionWords.connected(named(rows), name) : actionWords.disconnected(named(rows), name);
  return perform({ project, rows, deed, said, back });
}

export function moveChecks(
  project: string,
  rows: readonly CheckRow[],
  to: { id: string; name: string },
): Promise<boolean> {
  const said = actionWords.moved(named(rows), to.name);
  return perform({ project, rows, deed: { do: "move", project: to.id }, said, back: null });
}

export async function restoreCheck(
  project: string,
  { id, name }: { id: string; name: string },
): Promise<boolean> {
  try {
    const { refused } = await inBulk(project, [id], { do: "restore" });
    const [first] = refused;
    if (first !== undefined) toast({ kind: "trouble", text: first.error });
    else toast({ text: actionWords.restored(checkName({ name })) });
    return first === undefined;
  } catch (error) {
    toastTrouble(error);
    return false;
  }
}

/** The same list from a terminal: what the API can filter by is in the line. */
export async function copyListAsCode(tags: readonly string[]): Promise<void> {
  const query = new URLSearchParams(tags.map((tag) => ["tag", tag])).toString();
  const address = `${boot.site.url}/api/v3/checks/${query === "" ? "" : `?${query}`}`;
  const line = `curl -fsS -H "X-Api-Key: $OVERDUE_API_KEY" "${address}"`;
  const isCopied = await copyText(line);
  toast(
    isCopied ? { text: actionWords.lineCopied } : { kind: "trouble", text: actionWords.copyRefused(line) },
  );
}

export async function copyPingUrl(id: string): Promise<void> {
  const isCopied = await copyText(pingUrl(id));
  toast(
    isCopied
      ? { text: actionWords.urlCopied }
      : { kind: "trouble", text: actionWords.copyRefused(pingUrl(id)) },
  );
}
