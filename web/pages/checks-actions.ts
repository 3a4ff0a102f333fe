// Actions on one or many checks: send the request, show a message, offer undo. Rows change after the response.
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import type { BulkResult, BulkRequest } from "../../src/contract/api/checks.ts";
import { BULK_CHECKS_MAX } from "../../src/contract/api/limits.ts";
import { checkName, listNames } from "../../src/contract/api/words.ts";
import { call } from "../api.ts";
import { boot } from "../boot.ts";
import { copyText } from "../ui/copy.tsx";
import { toast, toastError } from "../ui/toast.tsx";
import { actionWords } from "../words/checks.ts";

/** The ping URL of a check. */
function pingUrl(id: string): string {
  return `${boot.site.pingUrl}/${id}`;
}

type ActionMessage = {
  rows: readonly CheckRow[];
  message: (what: string) => string;
  /** Called whenever the server has changed something, including by undo. */
  onChanged?: (() => void) | undefined;
};

type Ended = Pick<Outcome, "done" | "failed" | "fault">;

/** Runs the steps, shows what was done, and offers undo, also after a failure halfway. False: it failed. */
async function runAction({
  project,
  steps,
  ...message
}: ActionMessage & { project: string; steps: readonly Step[] }): Promise<boolean> {
  const ask = (request: BulkRequest) => call("changeChecks", { project, body: request });
  const { undo, ...ended } = await runInBulk(ask, steps);
  return showOutcome(ended, { ...message, takeBack: undo.length > 0 ? () => runInBulk(ask, undo) : null });
}

/** Shows what was done, and what failed. `takeBack` undoes it; null if it cannot be undone. */
export function showOutcome(
  { done, ...rest }: Ended,
  { rows, message, onChanged, takeBack }: ActionMessage & { takeBack: (() => Promise<Ended>) | null },
): boolean {
  showFailures(rest);
  onChanged?.();
  if (done.length === 0) return rest.failed.length === 0 && rest.fault === null;
  const isDone = new Set(done);
  const text = message(namesOf(rows.filter(({ id }) => isDone.has(id))));
  const undo = async () => {
    if (takeBack !== null) showFailures(await takeBack());
    onChanged?.();
  };
  toast({ text, ...(takeBack !== null && { undo }) });
  return rest.fault === null;
}

function showFailures({ failed, fault }: Pick<Outcome, "failed" | "fault">): void {
  const [first] = failed;
  if (first !== undefined) toast({ kind: "trouble", text: actionWords.refused(failed.length, first.error) });
  if (fault !== null) toastError(fault);
}

/** Applies the same change to all of them in one step. */
function once(rows: readonly CheckRow[], change: BulkAction, back: BulkAction | null): Step[] {
  return [{ ids: rows.map(({ id }) => id), change: change, back }];
}

/** "nightly-backup" or "3 checks". */
export function namesOf(rows: readonly CheckRow[]): string {
  const [first] = rows;
  return rows.length === 1 && first !== undefined ? checkName(first) : actionWords.many(rows.length);
}

export function pauseChecks(project: string, chosen: readonly CheckRow[]): Promise<boolean> {
  const rows = chosen.filter(({ state }) => state !== "paused");
  const steps = once(rows, { action: "pause" }, { action: "resume" });
  return runAction({ project, rows, steps, message: actionWords.paused });
}

export function resumeChecks(project: string, chosen: readonly CheckRow[]): Promise<boolean> {
  const rows = chosen.filter(({ state }) => state === "paused");
  const steps = once(rows, { action: "resume" }, { action: "pause" });
  return runAction({ project, rows, steps, message: actionWords.resumed });
}

export function deleteChecks(project: string, rows: readonly CheckRow[]): Promise<boolean> {
  const steps = once(rows, { action: "delete" }, { action: "restore" });
  return runAction({ project, rows, steps, message: actionWords.deleted });
}

/** Adds or removes tags; undo skips the checks that already had the tag, or did not have it, before. */
export function tagChecks(
  project: string,
  rows: readonly CheckRow[],
  { tags, isOn }: { tags: readonly string[]; isOn: boolean },
): Promise<boolean> {
  const [does, undoes] = isOn ? (["addTag", "removeTag"] as const) : (["removeTag", "addTag"] as const);
  const steps = tags.flatMap((tag) => {
    const wanted = rows.filter((row) => row.tags.includes(tag) !== isOn);
    return once(wanted, { action: does, tag }, { action: undoes, tag });
  });
  const list = tags.join(", ");
  const message = (what: string) =>
    isOn ? actionWords.tagged(what, list) : actionWords.untagged(what, list);
  return runAction({ project, rows, steps, message });
}

/** Assigns a channel to the checks, or removes it. */
export function connectChecks(
  project: string,
  rows: readonly CheckRow[],
  wanted: { channel: string; name: string; isOn: boolean; onChanged?: () => void },
): Promise<boolean> {
  const { channel, name, isOn, onChanged } = wanted;
  const on: BulkAction = { action: "addChannel", channel };
  const off: BulkAction = { action: "removeChannel", channel };
  const steps = isOn ? once(rows, on, off) : once(rows, off, on);
  const message = (what: string) =>
    isOn ? actionWords.connected(what, name) : actionWords.disconnected(what, name);
  return runAction({ project, rows, steps, message, onChanged });
}

/** Assigns all of these channels to the checks. */
export function connectAll(
  project: string,
  rows: readonly CheckRow[],
  { channels, onChanged }: { channels: readonly { id: string; name: string }[]; onChanged: () => void },
): Promise<boolean> {
  const steps = channels.flatMap(({ id }) =>
    once(rows, { action: "addChannel", channel: id }, { action: "removeChannel", channel: id }),
  );
  const names = listNames(channels.map(({ name }) => name));
  const message = (what: string) => actionWords.assigned(what, names);
  return runAction({ project, rows, steps, message, onChanged });
}

export function moveChecks(
  project: string,
  rows: readonly CheckRow[],
  to: { id: string; name: string },
): Promise<boolean> {
  const steps = once(rows, { action: "move", project: to.id }, null);
  return runAction({ project, rows, steps, message: (what) => actionWords.moved(what, to.name) });
}

export async function restoreCheck(
  project: string,
  { id, name }: { id: string; name: string },
): Promise<boolean> {
  try {
    const body: BulkRequest = { ids: [id], action: "restore" };
    const { failed } = await call("changeChecks", { project, body });
    const [first] = failed;
    if (first !== undefined) toast({ kind: "trouble", text: first.error });
    else toast({ text: actionWords.restored(checkName({ name })) });
    return first === undefined;
  } catch (error) {
    toastError(error);
    return false;
  }
}

/** The same list from a terminal: the command includes the filters that the API supports. */
export function copyListAsCode(tags: readonly string[]): Promise<void> {
  const query = new URLSearchParams(tags.map((tag) => ["tag", tag])).toString();
  return copyCode(askingLine(`${boot.site.url}/api/v3/checks/${query === "" ? "" : `?${query}`}`));
}

/** The chosen checks from a terminal, one after the other. */
export function copyChosenAsCode(rows: readonly CheckRow[]): Promise<void> {
  const ids = rows.map(({ id }) => id).join(" \\\n  ");
  const line = askingLine(`${boot.site.url}/api/v3/checks/$check`);
  return copyCode(`for check in \\\n  ${ids}\ndo\n  ${line}\ndone`);
}

function askingLine(address: string): string {
  return `curl -fsS -H "X-Api-Key: $API_KEY" "${address}"`;
}

async function copyCode(code: string): Promise<void> {
  const isCopied = await copyText(code);
  toast(
    isCopied ? { text: actionWords.codeCopied } : { kind: "trouble", text: actionWords.copyRefused(code) },
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

// Changes many checks in as many requests as needed, and collects what undo has to restore, also after a failure
// halfway.

export type BulkAction = Omit<BulkRequest, "ids">;
type Ask = (request: BulkRequest) => Promise<BulkResult>;

/** One change of some checks; `back`: the undo, null if there is none. */
export type Step = { ids: readonly string[]; change: BulkAction; back: BulkAction | null };

export type Outcome = {
  /** The checks that are in the wanted state now. */
  done: string[];
  failed: BulkResult["failed"];
  /** Why it stopped, or null. */
  fault: unknown;
  /** The undo steps, the last change first; empty: nothing can be undone. */
  undo: Step[];
};

/** Runs one step after the other. Never throws: it stops at the first error and returns what was done. */
export async function runInBulk(ask: Ask, steps: readonly Step[]): Promise<Outcome> {
  const done = new Set<string>();
  const outcome: Outcome = { done: [], failed: [], fault: null, undo: [] };
  for (const { ids, change, back } of steps) {
    for (let from = 0; from < ids.length && outcome.fault === null; from += BULK_CHECKS_MAX) {
      try {
        const answer = await ask({ ids: ids.slice(from, from + BULK_CHECKS_MAX), ...change });
        for (const id of answer.done) done.add(id);
        outcome.failed.push(...answer.failed);
        const unchanged = new Set(answer.unchanged);
        const changed = answer.done.filter((id) => !unchanged.has(id));
        if (back !== null && changed.length > 0)
          outcome.undo.unshift({ ids: changed, change: back, back: null });
      } catch (fault) {
        outcome.fault = fault;
      }
    }
  }
  return { ...outcome, done: [...done] };
}
