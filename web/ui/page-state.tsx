// Empty, loading and error states of a page or a part of it.
import type { UseQueryResult } from "@tanstack/react-query";
import { Tabs as Root } from "radix-ui";
import type { ReactNode } from "react";
import { errorText } from "../api.ts";
import { words } from "../words/shared.ts";
import { Button, Icon } from "./button.tsx";
import { type DocsTarget, LearnMore } from "./docs-link.tsx";

type EmptyProps = {
  title: string;
  children?: ReactNode;
  action?: ReactNode;
  /** The page that explains what would be here. */
  docs?: DocsTarget;
};

export function Empty(props: EmptyProps) {
  return (
    <div className="empty">
      <h2>{props.title}</h2>
      {props.children !== undefined && <div className="empty-text">{props.children}</div>}
      {props.action !== undefined && <div className="empty-act">{props.action}</div>}
      {props.docs !== undefined && (
        <p className="empty-text">
          <LearnMore to={props.docs} />
        </p>
      )}
    </div>
  );
}

/** Grey lines where the content will be; shown only after a moment, so that nothing flickers. */
export function Loading({ rows = 6 }: { rows?: number }) {
  return (
    <div className="loading" role="status" aria-label={words.loading}>
      {Array.from({ length: rows }, (_, index) => (
        <i key={index} />
      ))}
    </div>
  );
}

export function Failed({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  return (
    <div className="empty" role="alert">
      <h2>{words.errors.title}</h2>
      <p className="empty-text">{errorText(error)}</p>
      {onRetry !== undefined && (
        <div className="empty-act">
          <Button onClick={onRetry}>{words.retry}</Button>
        </div>
      )}
    </div>
  );
}

/** Renders the data of a query, or its loading or error state. */
export function Queried<T>(props: {
  query: UseQueryResult<T>;
  rows?: number;
  children: (data: T) => ReactNode;
}) {
  const { query, rows, children } = props;
  if (query.data !== undefined) return children(query.data);
  if (query.isError) return <Failed error={query.error} onRetry={() => void query.refetch()} />;
  return <Loading {...(rows !== undefined && { rows })} />;
}

// A banner.

/** `isSticky`: it stays visible while the page scrolls. Screen readers announce it politely. */
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

// Tabs, on Radix.

export type Tab = { name: string; label: ReactNode; body: ReactNode };

/** Without `value` it is uncontrolled. */
export function Tabs(props: {
  tabs: readonly Tab[];
  label: string;
  value?: string;
  onChange?: (name: string) => void;
}) {
  const { tabs, label, value, onChange } = props;
  return (
    <Root.Root
      className="tabs"
      {...(value === undefined ? { defaultValue: tabs[0]?.name ?? "" } : { value })}
      {...(onChange !== undefined && { onValueChange: onChange })}
    >
      <Root.List className="tab-list" aria-label={label}>
        {tabs.map((tab) => (
          <Root.Trigger key={tab.name} value={tab.name} className="tab">
            {tab.label}
          </Root.Trigger>
        ))}
      </Root.List>
      {tabs.map((tab) => (
        <Root.Content key={tab.name} value={tab.name} className="tab-body">
          {tab.body}
        </Root.Content>
      ))}
    </Root.Root>
  );
}
