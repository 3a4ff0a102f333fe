// Dialogs and drawers: they trap the focus, close with Escape, and return the focus.
import { AlertDialog, Dialog as Layer } from "radix-ui";
import { type ReactNode, useEffect, useState, useSyncExternalStore } from "react";
import type { AroundNavHandler } from "wouter";
import { siteUrl } from "../boot.ts";
import { focusBack } from "../shortcuts.ts";
import { words } from "../words/shared.ts";
import { Button, Icon } from "./button.tsx";
import { DocsLink, type DocsTarget } from "./docs-link.tsx";
import { WindowToasts } from "./toast.tsx";

type Props = {
  isOpen: boolean;
  onClose: () => void;
  title: ReactNode;
  /** One sentence below the title; read out when the dialog opens. */
  description?: ReactNode;
  /** The page that explains the dialog. */
  docs?: DocsTarget;
  children: ReactNode;
  /** Buttons in the footer, the primary one last. */
  footer?: ReactNode;
  className?: string;
  /** There are unsaved changes: closing the dialog or leaving the page asks first. */
  isUnsaved?: boolean;
};

export function Dialog(props: Props) {
  return <Window {...props} shape="dialog" />;
}

/** On the right on a desktop, at the bottom on a phone. */
export function Drawer(props: Props) {
  return <Window {...props} shape="drawer" />;
}

/** The first field gets the focus; without one the dialog itself, and not its close button. */
function focusFirst(event: Event): void {
  const layer = event.currentTarget;
  if (!(layer instanceof HTMLElement)) return;
  event.preventDefault();
  const field = layer.querySelector<HTMLElement>(
    ".window-body :is(input, textarea, select, [autofocus]):not([disabled], [type=hidden])",
  );
  (field ?? layer).focus();
}

/** Radix would return the focus to the trigger of the dialog, and our dialogs have none. */
export function restoreFocus(event: Event): void {
  event.preventDefault();
  focusBack();
}

/** Escape closes an open list or panel in the dialog first, and the dialog only after that. */
function closeListFirst(event: KeyboardEvent): void {
  const focused = document.activeElement;
  const isInPanel = focused !== null && focused.closest("[data-panel]") !== null;
  if (isInPanel || focused?.getAttribute("aria-expanded") === "true") event.preventDefault();
}

type ActsProps = {
  /** The label of the submit button. */
  act: string;
  onClose: () => void;
  isBusy: boolean;
  kind?: "primary" | "danger";
  disabled?: boolean;
};

/** The end of a form in a dialog: cancel or submit. */
export function FormActions({ act, onClose, isBusy, kind = "primary", disabled = false }: ActsProps) {
  return (
    <div className="form-acts">
      <Button onClick={onClose}>{words.cancel}</Button>
      <Button kind={kind} type="submit" disabled={disabled} isBusy={isBusy}>
        {act}
      </Button>
    </div>
  );
}

function Window({
  isOpen,
  onClose,
  title,
  description,
  docs,
  children,
  footer,
  className = "",
  shape,
  isUnsaved = false,
}: Props & { shape: string }) {
  const form = useUnsaved(isOpen && isUnsaved);
  const described = description === undefined ? { "aria-describedby": undefined } : {};
  return (
    <Layer.Root open={isOpen} onOpenChange={(open) => (open ? undefined : leaveForm(form, onClose))}>
      <Layer.Portal>
        <Layer.Overlay className="veil" />
        <Layer.Content
          className={`window is-${shape} ${className}`}
          onOpenAutoFocus={focusFirst}
          onCloseAutoFocus={restoreFocus}
          onEscapeKeyDown={closeListFirst}
          {...described}
        >
          <header className="window-head">
            <div>
              <Layer.Title className="window-title">{title}</Layer.Title>
              {description !== undefined && (
                <Layer.Description className="window-about">{description}</Layer.Description>
              )}
            </div>
            {docs !== undefined && <DocsLink to={docs} />}
            <Layer.Close className="button is-bare is-icon" aria-label={words.close}>
              <Icon name="cross" />
            </Layer.Close>
          </header>
          <div className="window-body">{children}</div>
          {footer !== undefined && <footer className="window-foot">{footer}</footer>}
          <LeaveQuestion form={form} isAsked={isUnsaved} />
          <WindowToasts />
        </Layer.Content>
      </Layer.Portal>
    </Layer.Root>
  );
}

// Unsaved changes: closing, following a link, going back and closing the tab ask first.

/** The forms with unsaved changes, the one on top last. */
const forms = new Set<symbol>();
/** Removes the handlers that keep the tab on this page; null: there is no form with unsaved changes. */
let release: (() => void) | null = null;

type Question = {
  /** The form that asks for confirmation. */
  form: symbol;
  /** What to do once the user has agreed to lose the changes. */
  leave: () => void;
  /** Whether the changes of all forms are lost, because the page is left. */
  isOfPage: boolean;
};
let question: Question | null = null;
const listeners = new Set<() => void>();

function ask(next: Question | null): void {
  question = next;
  for (const listener of listeners) listener();
}

/** Leaves the page immediately, or after the user has agreed to lose unsaved changes. */
function leavePage(leave: () => void): void {
  const form = [...forms].at(-1);
  if (form === undefined) leave();
  else ask({ form, leave, isOfPage: true });
}

/** The same for a single form, such as that of a dialog. */
function leaveForm(form: symbol, leave: () => void): void {
  if (forms.has(form)) ask({ form, leave, isOfPage: false });
  else leave();
}

/**
 * Every navigation to another page of ours goes through here. A URL that differs only in its query is the same page.
 */
export const aroundNav: AroundNavHandler = (navigate, to, options) => {
  const [path = ""] = to.split("?");
  if (path === "" || siteUrl(path) === location.pathname) navigate(to, options);
  else leavePage(() => navigate(to, options));
};

/** While `isUnsaved`, leaving asks for confirmation. Returns the ID of the form. */
function useUnsaved(isUnsaved: boolean): symbol {
  const [form] = useState(() => Symbol("form"));
  useEffect(() => {
    if (!isUnsaved) return undefined;
    forms.add(form);
    release ??= holdPage();
    return () => {
      forms.delete(form);
      if (forms.size > 0) return;
      release?.();
      release = null;
    };
  }, [isUnsaved, form]);
  return form;
}

function holdPage(): () => void {
  const stay = (event: BeforeUnloadEvent) => event.preventDefault();
  window.addEventListener("beforeunload", stay);
  const releaseHistory = holdBack();
  return () => {
    window.removeEventListener("beforeunload", stay);
    releaseHistory();
  };
}

/** Marks the entry in the history of the tab that belongs to the form. */
const STEP = "unsaved form";

/**
 * Going back cannot be prevented. With an extra history entry of the same URL, it leads to this page again, and the
 * user can be asked.
 */
function holdBack(): () => void {
  const push = () => history.pushState({ [STEP]: true }, "", location.href);
  push();
  let isLeaving = false;
  const back = () => {
    if (isLeaving) return;
    push();
    leavePage(() => {
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

/** For a form on a page and not in a dialog. */
export function UnsavedGuard({ isUnsaved }: { isUnsaved: boolean }) {
  const form = useUnsaved(isUnsaved);
  return <LeaveQuestion form={form} isAsked={isUnsaved} />;
}

/** The confirmation, over the form with unsaved changes. */
function LeaveQuestion({ form, isAsked }: { form: symbol; isAsked: boolean }) {
  const asked = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => question,
  );
  const isOpen = isAsked && asked?.form === form;
  useEffect(() => {
    // Without unsaved changes, there is no confirmation.
    if (!isAsked && question?.form === form) ask(null);
  }, [isAsked, form]);
  const discard = () => {
    if (asked?.isOfPage === true) forms.clear();
    else forms.delete(form);
    asked?.leave();
    ask(null);
  };
  return (
    <AlertDialog.Root open={isOpen} onOpenChange={(open) => (open ? undefined : ask(null))}>
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
