// Windows over the page: a dialog in the middle for a decision or a short form, a drawer at the side for something to
// read beside the page. Both hold the focus, close with Escape, and give the focus back.
import { Dialog as Layer } from "radix-ui";
import type { ReactNode } from "react";
import { focusBack } from "../keys/keep-focus.ts";
import { words } from "../words/shared.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";
import { WindowToasts } from "./toast.tsx";
import { LeaveQuestion, leaveForm, useUnsaved } from "./unsaved.tsx";

type Props = {
  isOpen: boolean;
  onClose: () => void;
  title: ReactNode;
  /** One sentence below the title; read out when the window opens. */
  description?: ReactNode;
  children: ReactNode;
  /** Buttons at the foot, the one that is meant last. */
  footer?: ReactNode;
  className?: string;
  /** Something was typed that has not been saved: whoever closes the window, or leaves the page, is asked first. */
  isUnsaved?: boolean;
};

export function Dialog(props: Props) {
  return <Window {...props} shape="dialog" />;
}

/** At the right on a desk, from below on a phone. */
export function Drawer(props: Props) {
  return <Window {...props} shape="drawer" />;
}

/** The first field has the focus; where there is none the window itself, and not the button that closes it. */
function focusFirst(event: Event): void {
  const layer = event.currentTarget;
  if (!(layer instanceof HTMLElement)) return;
  event.preventDefault();
  const field = layer.querySelector<HTMLElement>(
    ".window-body :is(input, textarea, select, [autofocus]):not([disabled], [type=hidden])",
  );
  (field ?? layer).focus();
}

/** Radix would give it to the button that it knows to have opened the window, and our windows have none. */
export function giveBack(event: Event): void {
  event.preventDefault();
  focusBack();
}

/** Escape closes a list that is open in the window, and the window only after that. */
function closeListFirst(event: KeyboardEvent): void {
  if (document.activeElement?.getAttribute("aria-expanded") === "true") event.preventDefault();
}

type ActsProps = {
  /** What the button says that sends the form. */
  act: string;
  onClose: () => void;
  isBusy: boolean;
  kind?: "primary" | "danger";
  disabled?: boolean;
};

/** The end of a form in a window: out of it again, or do it. */
export function FormActs({ act, onClose, isBusy, kind = "primary", disabled = false }: ActsProps) {
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
          onCloseAutoFocus={giveBack}
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
