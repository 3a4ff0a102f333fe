// Buttons: "primary" once per view, "quiet" for the rest, "bare" inside rows and bars, "danger" where something is
// lost.
import { Tooltip } from "radix-ui";
import type { ComponentProps, MouseEvent, ReactElement, ReactNode } from "react";
import { Link } from "wouter";

export type ButtonKind = "primary" | "quiet" | "bare" | "danger";

type Props = ComponentProps<"button"> & {
  kind?: ButtonKind;
  /** Shown in the tooltip together with the shortcut; without it there is a tooltip only for `keys`. */
  tip?: string;
  /** As in the shortcut table: "p", "g c", "Control+k". */
  keys?: string;
  isBusy?: boolean;
};

export function Button({ kind = "quiet", tip, keys, isBusy = false, className = "", ...rest }: Props) {
  const button = (
    <button
      type="button"
      {...rest}
      className={`button is-${kind} ${className}`}
      aria-busy={isBusy || undefined}
      {...(isBusy && { "aria-disabled": true, onClick: refuse })}
    />
  );
  if (tip === undefined && keys === undefined) return button;
  return (
    <Tip text={tip ?? null} keys={keys}>
      {button}
    </Tip>
  );
}

/** A busy button keeps the focus, which a disabled one would lose, and ignores clicks. */
function refuse(event: MouseEvent): void {
  event.preventDefault();
}

/** A link to a page of ours that looks like a button. */
export function ButtonLink(props: { href: string; kind?: ButtonKind; children: ReactNode }) {
  return (
    <Link href={props.href} className={`button is-${props.kind ?? "quiet"}`}>
      {props.children}
    </Link>
  );
}

/** A square button with an icon; its label is read out and shown as the tooltip. */
export function IconButton({
  label,
  keys,
  children,
  className = "",
  ...rest
}: ComponentProps<"button"> & { label: string; keys?: string }) {
  return (
    <Tip text={label} keys={keys}>
      <button type="button" {...rest} aria-label={label} className={`button is-bare is-icon ${className}`}>
        {children}
      </button>
    </Tip>
  );
}

// Tooltips. They never contain anything that is needed.

/** Wraps the whole page, once. */
export const TipProvider = Tooltip.Provider;

/** The child must be one element that can have focus. */
function Tip(props: { text: string | null; keys?: string | undefined; children: ReactElement }) {
  const { text, keys, children } = props;
  return (
    <Tooltip.Root>
      <Tooltip.Trigger asChild>{children}</Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Content className="tip" sideOffset={6} collisionPadding={8}>
          {text}
          {keys !== undefined && <Keys keys={keys} />}
        </Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}

// A shortcut: "g c" is one key after the other, "Control+k" both at once.
const PRINTED: Readonly<Record<string, string>> = {
  Control: "Ctrl",
  $mod: "Ctrl",
  Shift: "Shift",
  Enter: "↵",
  Escape: "Esc",
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
};

export function Keys({ keys }: { keys: string }) {
  // "+" itself is a key, too.
  const parts = keys.split(" ").flatMap((chord) => chord.split(/(?<=\w)\+/));
  return (
    <span className="keys">
      {parts.map((key, index) => (
        <kbd key={index}>{PRINTED[key] ?? key}</kbd>
      ))}
    </span>
  );
}

// Icons, 16 by 16.
const PATHS = {
  tick: "m3.5 8.5 3 3 6-7",
  cross: "m4 4 8 8M12 4l-8 8",
  down: "m4 6 4 4 4-4",
  right: "m6 4 4 4-4 4",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M5 3.5v9l7-4.5z",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.5 10.5l3 3",
  plus: "M8 3v10M3 8h10",
  book: "M8 4C6.5 3 4.5 2.8 2 3v9.3c2.5-.2 4.5 0 6 1 1.5-1 3.5-1.2 6-1V3c-2.5-.2-4.5 0-6 1v9.3",
  edit: "M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3zM9 4.7 11.3 7",
  bin: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9M6.8 7v4M9.2 7v4",
  list: "M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01",
  out: "M9.5 3h3.5v3.5M13 3 7.5 8.5M11 9.5V13H3V5h3.5",
  gear: "M8 10.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4ZM8 1.8v2M8 12.2v2M1.8 8h2M12.2 8h2M3.6 3.6 5 5M11 11l1.4 1.4M12.4 3.6 11 5M5 11l-1.4 1.4",
  warn: "M8 2.2 14.5 13.5h-13zM8 6.5v3.2M8 11.6v.01",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" width={size} height={size} aria-hidden="true">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.6"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
