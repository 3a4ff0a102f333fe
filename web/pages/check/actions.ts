// What can be done with the check on the page: each asks the server, says what was done, and offers the way back
// where there is one.
import { checkName } from "../../../src/contract/web/list-words.ts";
import { useQueryClient } from "@tanstack/react-query";
import { useLocation } from "wouter";
import type { CheckPage } from "../../../src/contract/web/check-page.ts";
import type { CheckRow } from "../../../src/contract/web/check-row.ts";
import { send } from "../../api/api.ts";
import { checksStore } from "../../live/checks-store.ts";
import { pageHref } from "../../shell/page-address.ts";
import { copyText } from "../../ui/copy.tsx";
import { toast, toastTrouble } from "../../ui/toast.tsx";
import { actionWords } from "../../words/check-actions.ts";
import { checkWords as words } from "../../words/check/page.ts";
import { checkKey, refreshCheck } from "../../api/refresh-check.ts";

type Verb = "pause" | "resume" | "ping" | "clear" | "restore";

/** What every deed needs: the check, its place on screen, and how to ask. */
function useDoing({ row, projectId }: CheckPage) {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const store = checksStore(projectId);
  const taken = (changed: CheckRow) => {
    store.take({ rows: [changed], removed: [] });
    return refreshCheck(client, changed.id);
  };
  return {
    id: row.id,
    name: checkName(row),
    projectId,
    navigate,
    taken,
    ask: async (verb: Verb) => taken(await send<CheckRow>("POST", `/checks/${row.id}/${verb}`)),
    gone: () => {
      store.take({ rows: [], removed: [row.id] });
      // Whoever comes back to this page is not to find what it was.
      void client.invalidateQueries({ queryKey: checkKey(row.id), refetchType: "none" });
    },
    refresh: () => refreshCheck(client, row.id),
  };
}

type Doing = ReturnType<typeof useDoing>;

/** Does it, or says why it could not be done. */
async function perform(deed: () => Promise<unknown>): Promise<boolean> {
  try {
    await deed();
    return true;
  } catch (error) {
    toastTrouble(error);
    return false;
  }
}

/** Asks for something, says that it is done, and offers the way back if there is one. */
function doing({ ask }: Doing, verb: Verb, { said, back }: { said: string; back?: Verb }): Promise<boolean> {
  return perform(async () => {
    await ask(verb);
    toast({ text: said, ...(back !== undefined && { undo: () => ask(back) }) });
  });
}

function copy({ id, name, taken, navigate }: Doing): Promise<boolean> {
  return perform(async () => {
    const made = await send<CheckRow>("POST", `/checks/${id}/copy`);
    await taken(made);
    navigate(pageHref("check", { check: made.id }));
    toast({ text: words.copied(name) });
  });
}

function transfer({ id, name, gone, refresh }: Doing, to: { id: string; name: string }): Promise<boolean> {
  return perform(async () => {
    await send<CheckRow>("POST", `/checks/${id}/transfer`, { project: to.id });
    gone();
    await refresh();
    toast({ text: actionWords.moved(name, to.name) });
  });
}

function remove({ id, name, projectId, ask, gone, navigate }: Doing): Promise<boolean> {
  return perform(async () => {
    await send("DELETE", `/checks/${id}`);
    gone();
    navigate(pageHref("checks", { project: projectId }));
    const undo = async () => {
      await ask("restore");
      navigate(pageHref("check", { check: id }));
    };
    toast({ text: actionWords.deleted(name), undo });
  });
}

async function copyUrl(url: string): Promise<void> {
  const isCopied = await copyText(url);
  toast(isCopied ? { text: actionWords.urlCopied } : { kind: "trouble", text: actionWords.copyRefused(url) });
}

/** The deeds of the page, each ready to be bound to a button. */
export function useCheckActions(page: CheckPage) {
  const doer = useDoing(page);
  const { name } = doer;
  return {
    pause: () => doing(doer, "pause", { said: actionWords.paused(name), back: "resume" }),
    resume: () => doing(doer, "resume", { said: actionWords.resumed(name), back: "pause" }),
    ping: () => doing(doer, "ping", { said: words.pinged(name) }),
    clear: () => doing(doer, "clear", { said: words.clearAsk.done(name) }),
    copy: () => copy(doer),
    transfer: (to: { id: string; name: string }) => transfer(doer, to),
    remove: () => remove(doer),
    copyUrl: () => copyUrl(page.addresses.url),
  };
}

export type CheckActions = ReturnType<typeof useCheckActions>;
