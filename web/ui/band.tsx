// A line across the page about what puts all of it in doubt.
import type { ReactNode } from "react";
import { Icon } from "./icon.tsx";

/** `isSticky`: it stays in sight while the page scrolls. Screen readers announce it when there is time. */
export function Band(props: { text: string; isSticky?: boolean; children?: ReactNode }) {
  const { text, isSticky = false, children } = props;
  return (
    <div className={isSticky ? "band is-sticky" : "band"} role="status">
      <Icon name="warn" />
      <span className="band-text">{text}</span>
      {children}
    </div>
  );
}
