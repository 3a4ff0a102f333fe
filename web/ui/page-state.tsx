// What a page or a part of it shows when there is nothing, nothing yet, or trouble. Each says what to do next.
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { troubleText } from "../api/api.ts";
import { words } from "../words/shared.ts";
import { Button } from "./button.tsx";

export function Empty(props: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{props.title}</h2>
      {props.children !== undefined && <div className="empty-text">{props.children}</div>}
      {props.action !== undefined && <div className="empty-act">{props.action}</div>}
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
      <h2>{words.trouble.title}</h2>
      <p className="empty-text">{troubleText(error)}</p>
      {onRetry !== undefined && (
        <div className="empty-act">
          <Button onClick={onRetry}>{words.retry}</Button>
        </div>
      )}
    </div>
  );
}

/** The answer of a query once it is there, and the right thing before and instead. */
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
