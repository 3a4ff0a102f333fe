// Menus, on Radix.
import { DropdownMenu } from "radix-ui";
import type { FocusEvent, KeyboardEvent, ReactElement, ReactNode } from "react";
import { Link } from "wouter";
import { Icon, Keys } from "./button.tsx";

type MenuProps = {
  trigger: ReactElement;
  children: ReactNode;
  align?: "start" | "end";
  label?: string;
  isOpenAtOnce?: boolean;
};

export function Menu(props: MenuProps) {
  return (
    <DropdownMenu.Root modal={false} defaultOpen={props.isOpenAtOnce ?? false}>
      <DropdownMenu.Trigger asChild>{props.trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal container={pageContent()}>
        <DropdownMenu.Content
          className="menu"
          align={props.align ?? "start"}
          sideOffset={6}
          collisionPadding={8}
          aria-label={props.label}
          onFocus={enter}
          onKeyDownCapture={passField}
        >
          {props.children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

const ENTRY = "[role^=menuitem]:not([data-disabled])";
const FIELD = "input:not([disabled])";

/** Opened by a key, a menu focuses its field or else its first entry, also where Radix did not see the key. */
function enter(event: FocusEvent<HTMLElement>): void {
  const menu = event.currentTarget;
  if (event.target !== menu || !menu.matches(":focus-visible")) return;
  event.preventDefault();
  (menu.querySelector<HTMLElement>(FIELD) ?? menu.querySelector<HTMLElement>(ENTRY))?.focus();
}

/** A field is no entry, and arrow keys would skip it: it is treated as the item above the first one. */
function passField(event: KeyboardEvent<HTMLElement>): void {
  const field = event.currentTarget.querySelector<HTMLElement>(FIELD);
  const first = event.currentTarget.querySelector<HTMLElement>(ENTRY);
  const isDown = event.key === "ArrowDown" && event.target === field;
  const isUp = event.key === "ArrowUp" && event.target === first;
  if (field === null || !(isDown || isUp)) return;
  event.preventDefault();
  event.stopPropagation();
  (isDown ? first : field)?.focus();
}

/** Inside the main element, so that screen reader users find it by landmark. */
function pageContent(): HTMLElement | null {
  return document.getElementById("content");
}

type ItemProps = {
  onPick: () => void;
  children: ReactNode;
  keys?: string;
  isDanger?: boolean;
  isDisabled?: boolean;
};

export function MenuItem({ onPick, children, keys, isDanger = false, isDisabled = false }: ItemProps) {
  return (
    <DropdownMenu.Item
      className={`menu-item${isDanger ? " is-danger" : ""}`}
      onSelect={onPick}
      disabled={isDisabled}
    >
      <span className="menu-text">{children}</span>
      {keys !== undefined && <Keys keys={keys} />}
    </DropdownMenu.Item>
  );
}

/** An entry that links to a page of ours, and can be opened in a new tab like any link. */
export function MenuLink(props: { href: string; children: ReactNode; className?: string }) {
  const { href, children, className = "" } = props;
  return (
    <DropdownMenu.Item className={`menu-item ${className}`} asChild>
      <Link href={href}>
        <span className="menu-text">{children}</span>
      </Link>
    </DropdownMenu.Item>
  );
}

/** One of several; the selected one has a check mark. */
export function MenuChoice(props: {
  isChosen: boolean;
  onPick: () => void;
  children: ReactNode;
  stays?: boolean;
}) {
  return (
    <DropdownMenu.CheckboxItem
      className="menu-item"
      checked={props.isChosen}
      onSelect={(event) => {
        if (props.stays === true) event.preventDefault();
        props.onPick();
      }}
    >
      <span className="menu-tick">{props.isChosen && <Icon name="tick" size={14} />}</span>
      <span className="menu-text">{props.children}</span>
    </DropdownMenu.CheckboxItem>
  );
}

export function MenuLine() {
  return <DropdownMenu.Separator className="menu-line" />;
}

export function MenuHead({ children }: { children: ReactNode }) {
  return <DropdownMenu.Label className="menu-head">{children}</DropdownMenu.Label>;
}
