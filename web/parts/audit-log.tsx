// The audit log of a project or of the server, newest first.
import "./audit-log.css";
import { useInfiniteQuery } from "@tanstack/react-query";
import { FIELD_NAMES } from "../../src/contract/api/field-names.ts";
import type { AuditRow } from "../../src/contract/api/projects.ts";
import { call } from "../api.ts";
import { Button } from "../ui/button.tsx";
import { Empty, Failed, Loading } from "../ui/page-state.tsx";
import { When } from "../ui/when.tsx";
import { formatSpan, plural } from "../words/format.ts";

const auditLogWords = {
  none: {
    title: "No changes yet",
    text: "The audit log lists every change to checks, channels, keys and members: who made it, and the values before and after.",
  },
  columns: { when: "When", who: "Who", what: "Action", change: "Before → after" },
  commandLine: "command line",
  key: (prefix: string) => `key ${prefix}`,
  older: "Older changes",
  end: "No older changes. The audit log keeps one year.",
  nothing: "none",
  empty: "empty",
  /** Names of stored values. */
  names: { readOnly: "read-only", readWrite: "read and write" } as Readonly<Record<string, string>>,
  yes: "yes",
  no: "no",
  more: (count: number) => `and ${plural(count, "more field")}`,
} as const;

const SHOWN_FIELDS = 6;

/** The audit log of a project, or of the server (null). */
export function AuditLog({ project }: { project: string | null }) {
  const query = useInfiniteQuery({
    queryKey: ["record", project],
    queryFn: ({ pageParam, signal }) => {
      const page = pageParam === null ? {} : { query: { cursor: pageParam } };
      return project === null
        ? call("listServerAudit", page, signal)
        : call("listAudit", { project, ...page }, signal);
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
  if (query.isPending) return <Loading />;
  if (query.isError) return <Failed error={query.error} onRetry={() => void query.refetch()} />;
  const entries = query.data.pages.flatMap((page) => page.entries);
  if (entries.length === 0) {
    return (
      <Empty title={auditLogWords.none.title} docs={project === null ? "auditLog" : "projects"}>
        {auditLogWords.none.text}
      </Empty>
    );
  }
  return (
    <>
      <table className="table record-table">
        <thead>
          <tr>
            {Object.values(auditLogWords.columns).map((column) => (
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
            {auditLogWords.older}
          </Button>
        </p>
      ) : (
        <p className="hint record-more">{auditLogWords.end}</p>
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
      <td className="record-who">{actorOf(entry)}</td>
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

function actorOf({ by, who }: AuditRow): string {
  if (who === null) return auditLogWords.commandLine;
  return by === "key" ? auditLogWords.key(who) : who;
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
      {rest > 0 && <li className="muted">{auditLogWords.more(rest)}</li>}
    </ul>
  );
}

// The changed fields of an entry, before and after.

export type Difference = { field: string; before: string | null; after: string | null };
type Side = Readonly<Record<string, unknown>> | null;

const VALUE_LENGTH_MAX = 120;
/** For programs only. */
const SUBJECT_ID = "uuid";

/** The fields in which two sides differ; null on a side that did not exist. Fields that are the same are left out. */
export function differences(before: Side, after: Side): Difference[] {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].filter(
    (name) => name !== SUBJECT_ID,
  );
  return names
    .map((name) => ({
      field: fieldWords(name),
      before: sideWords(before, name),
      after: sideWords(after, name),
    }))
    .filter((one) => one.before !== one.after);
}

function sideWords(side: Side, name: string): string | null {
  if (side === null || !(name in side)) return null;
  const value = side[name];
  return name.endsWith("Seconds") && typeof value === "number"
    ? formatSpan(value * 1_000)
    : valueWords(value);
}

/** "grace period" for "graceSeconds", "url down" for "url_down". */
export function fieldWords(name: string): string {
  const known = FIELD_NAMES[name];
  if (known !== undefined) return known;
  return name
    .replaceAll("_", " ")
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase();
}

/** A value as one short text. */
export function valueWords(value: unknown): string {
  if (value === null || value === undefined) return auditLogWords.nothing;
  if (value === "") return auditLogWords.empty;
  if (typeof value === "boolean") return value ? auditLogWords.yes : auditLogWords.no;
  if (Array.isArray(value))
    return value.length === 0 ? auditLogWords.nothing : cut(value.map(valueWords).join(", "));
  if (typeof value === "string") return cut(auditLogWords.names[value] ?? value);
  return cut(JSON.stringify(value));
}

function cut(text: string): string {
  return text.length > VALUE_LENGTH_MAX ? `${text.slice(0, VALUE_LENGTH_MAX - 1)}…` : text;
}
