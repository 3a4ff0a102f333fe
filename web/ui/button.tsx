// What can be pressed. One accent: "primary" once per view, "quiet" for the rest, "bare" inside rows and bars,
// "danger" only where something is lost. A shortcut named in `keys` is shown in the tooltip.
import type { ComponentProps, MouseEvent, ReactNode } from "react";
import { Link } from "wouter";
import { Tip } from "./tooltip.tsx";

export type ButtonKind = "primary" | "quiet" | "bare" | "danger";

type Props = ComponentProps<"button"> & {
  kind?: ButtonKind;
  /** Told by the tooltip together with the shortcut; without it there is a tooltip only for `keys`. */
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

/** While it is busy it keeps the focus, which a disabled button would lose, and does nothing a second time. */
function refuse(event: MouseEvent): void {
  event.preventDefault();
}

/** Looks as a button and leads to a page of ours. */
export function ButtonLink(props: { href: string; kind?: ButtonKind; children: ReactNode }) {
  return (
    <Link href={props.href} className={`button is-${props.kind ?? "quiet"}`}>
      {props.children}
    </Link>
  );
}

/** A square button with a picture; its label is read out and shown as the tooltip. */
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
