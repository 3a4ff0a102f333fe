// Nothing that was typed is lost without asking: not by Escape, not by a link, not by going back, and not by closing the
// tab. A window that has unsaved changes says so while it is drawn.
import { AlertDialog } from "radix-ui";
import { useEffect, useSyncExternalStore } from "react";
import type { AroundNavHandler } from "wouter";
import { siteUrl } from "../boot/boot.ts";
import { words } from "../words/shared.ts";
import { Button } from "./button.tsx";

/** The forms with unsaved changes. */
const forms = new Set<symbol>();
/** What is to be done when the changes may be lost; null: nobody is asked. */
let leaving: (() => void) | null = null;
const listeners = new Set<() => void>();

function ask(next: (() => void) | null): void {
  leaving = next;
  for (const listener of listeners) listener();
}

/** Does it at once, or after the person has agreed to lose what was typed. */
export function leaveForm(leave: () => void): void {
  if (forms.size === 0) leave();
  else ask(leave);
}

/** Every way to another page of ours goes through here. What only changes behind the question mark is the same page. */
export const aroundNav: AroundNavHandler = (navigate, to, options) => {
  const [path = ""] = to.split("?");
  if (path === "" || siteUrl(path) === location.pathname) navigate(to, options);
  else leaveForm(() => navigate(to, options));
};

/** While `isUnsaved`, leaving asks first. */
export function useUnsaved(isUnsaved: boolean): void {
  useEffect(() => {
    if (!isUnsaved) return undefined;
    const form = Symbol("form");
    forms.add(form);
    const stay = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", stay);
    const letGo = holdBack();
    return () => {
      forms.delete(form);
      window.removeEventListener("beforeunload", stay);
      letGo();
    };
  }, [isUnsaved]);
}

/** Marks the step in the history of the tab that stands for the form. */
const STEP = "unsaved form";

/**
 * Going back cannot be stopped. With one more step of the same address in the history, it leads to this page again, and
 * there is time to ask.
 */
function holdBack(): () => void {
  const push = () => history.pushState({ [STEP]: true }, "", location.href);
  push();
  let isLeaving = false;
  const back = () => {
    if (isLeaving) return;
    push();
    ask(() => {
      isLeaving = true;
      history.go(-2);
    });
  };
  window.addEventListener("popstate", back);
  return () => {
    window.removeEventListener("popstate", back);
    const state: unknown = history.state;
    const isOurs = typeof state === "object" && state !== null && STEP in state;
    if (isOurs && !isLeaving) history.back();
  };
}

/** The question, over the window that has something to lose. */
export function LeaveQuestion({ isAsked }: { isAsked: boolean }) {
  const leave = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => leaving,
  );
  useEffect(() => {
    // Whoever has nothing to lose any more is not asked.
    if (!isAsked && forms.size === 0 && leaving !== null) ask(null);
  }, [isAsked]);
  const discard = () => {
    forms.clear();
    leave?.();
    ask(null);
  };
  return (
    <AlertDialog.Root
      open={isAsked && leave !== null}
      onOpenChange={(open) => (open ? undefined : ask(null))}
    >
      <AlertDialog.Portal>
        <AlertDialog.Overlay className="veil" />
        <AlertDialog.Content className="window is-dialog leave">
          <header className="window-head">
            <div>
              <AlertDialog.Title className="window-title">{words.unsaved.title}</AlertDialog.Title>
              <AlertDialog.Description className="window-about">{words.unsaved.text}</AlertDialog.Description>
            </div>
          </header>
          <footer className="window-foot">
            <Button onClick={discard}>{words.unsaved.discard}</Button>
            <AlertDialog.Cancel asChild>
              <Button kind="primary">{words.unsaved.keep}</Button>
            </AlertDialog.Cancel>
          </footer>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
