// The record of changes, of a project or of the installation: who did what to what, and what it was before and after.
// Newest first.
import "./record.css";
import { useInfiniteQuery } from "@tanstack/react-query";
import type { AuditPage, AuditRow } from "../../../src/contract/web/project-settings.ts";
import { get } from "../../api/api.ts";
import { Button } from "../../ui/button.tsx";
import { Empty, Failed, Loading } from "../../ui/page-state.tsx";
import { When } from "../../ui/when.tsx";
import { recordWords as words } from "../../words/record.ts";
import { type Difference, differences } from "./differences.ts";

const SHOWN_FIELDS = 6;

/** `path` is where the record is asked for: "/projects/…/audit". */
export function RecordOfChanges({ path }: { path: string }) {
  const query = useInfiniteQuery({
    queryKey: ["record", path],
    queryFn: ({ pageParam }) => get<AuditPage>(path, { before: pageParam }),
    initialPageParam: null as number | null,
    getNextPageParam: (page) => page.next,
  });
  if (query.isPending) return <Loading />;
  if (query.isError) return <Failed error={query.error} onRetry={() => void query.refetch()} />;
  const entries = query.data.pages.flatMap((page) => page.entries);
  if (entries.length === 0) return <Empty title={words.none.title}>{words.none.text}</Empty>;
  return (
    <>
      <table className="table record-table">
        <thead>
          <tr>
            {Object.values(words.columns).map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <Entry key={entry.id} entry={entry} />
          ))}
        </tbody>
      </table>
      {query.hasNextPage ? (
        <p className="record-more">
          <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {words.older}
          </Button>
        </p>
      ) : (
        <p className="hint record-more">{words.end}</p>
      )}
    </>
  );
}

function Entry({ entry }: { entry: AuditRow }) {
  const changed = differences(entry.before, entry.after);
  return (
    <tr>
      <td className="record-when">
        <When at={entry.at} />
      </td>
      <td className="record-who">{whoOf(entry)}</td>
      <td>
        {entry.words}
        {entry.subject !== "" && <b className="record-subject">{entry.subject}</b>}
      </td>
      <td>
        <Changed changed={changed} />
      </td>
    </tr>
  );
}

function whoOf({ by, who }: AuditRow): string {
  if (who === null) return words.nobody;
  return by === "key" ? words.key(who) : who;
}

function Changed({ changed }: { changed: readonly Difference[] }) {
  if (changed.length === 0) return null;
  const rest = changed.length - SHOWN_FIELDS;
  return (
    <ul className="record-fields">
      {changed.slice(0, SHOWN_FIELDS).map(({ field, before, after }) => (
        <li key={field}>
          <span className="muted">{field}</span>{" "}
          {before !== null && after !== null && (
            <>
              <del>{before}</del> <span aria-hidden="true">→</span> <ins>{after}</ins>
            </>
          )}
          {before !== null && after === null && <del>{before}</del>}
          {before === null && after !== null && <ins>{after}</ins>}
        </li>
      ))}
      {rest > 0 && <li className="muted">{words.more(rest)}</li>}
    </ul>
  );
}
