// The table of runs, newest first; a row opens the run beside the page. Older ones come by the page. Whoever looks for
// what is no run (a log entry, an ignored request, a pause) shows everything instead.
import type { DrawnState } from "../../../../src/contract/web/check-row.ts";
import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import type { UsualDuration } from "../../../../src/contract/web/check-page.ts";
import type { RunRow, RunsPage } from "../../../../src/contract/web/history.ts";
import { readerZone } from "../../../boot/boot.ts";
import { useMinute } from "../../../live/clock.ts";
import { pageHref } from "../../../shell/page-address.ts";
import { Button } from "../../../ui/button.tsx";
import { StateShape } from "../../../ui/marks/state-shape.tsx";
import { Failed, Loading } from "../../../ui/page-state.tsx";
import { When } from "../../../ui/when.tsx";
import { againstUsual, outcomeWord, runsWords as words } from "../../../words/check/page.ts";
import { formatDuration, formatWhen } from "../../../words/time.ts";
import { Log } from "./log.tsx";

/** A page of the server is longer than a screen; it is shown in such steps. */
const SHOWN_STEP = 15;

type Props = {
  id: string;
  query: UseInfiniteQueryResult<InfiniteData<RunsPage>>;
  usual: UsualDuration | null;
};

export function Runs({ checkZone, ...props }: Props & { checkZone: string }) {
  const [shown, setShown] = useState<"runs" | "log">("runs");
  return (
    <section className="check-part" aria-labelledby="check-runs">
      <div className="check-part-head">
        <h2 id="check-runs">{words.titles[shown]}</h2>
        <div className="check-switch" role="group" aria-label={words.list}>
          {(["runs", "log"] as const).map((one) => (
            <button key={one} type="button" aria-pressed={shown === one} onClick={() => setShown(one)}>
              {words.lists[one]}
            </button>
          ))}
        </div>
      </div>
      {shown === "runs" ? <RunsTable {...props} /> : <Log id={props.id} checkZone={checkZone} />}
    </section>
  );
}

function RunsTable({ id, query, usual }: Props) {
  const [most, setMost] = useState(SHOWN_STEP);
  if (query.data === undefined) {
    return query.isError ? <Failed error={query.error} onRetry={() => void query.refetch()} /> : <Loading />;
  }
  const runs = query.data.pages.flatMap((page) => page.runs);
  const showMore = () => {
    setMost(most + SHOWN_STEP);
    if (most + SHOWN_STEP > runs.length && query.hasNextPage) void query.fetchNextPage();
  };
  const { columns } = words;
  return (
    <>
      {runs.length === 0 ? (
        <p className="muted">{words.none}</p>
      ) : (
        <table className="table check-runs" aria-labelledby="check-runs">
          <thead>
            <tr>
              <th scope="col">{columns.outcome}</th>
              <th scope="col">{columns.started}</th>
              <th scope="col">{columns.took}</th>
              <th scope="col" className="is-wide">
                {columns.against}
              </th>
              <th scope="col" className="is-wide">
                {columns.output}
              </th>
            </tr>
          </thead>
          <tbody>
            {runs.slice(0, most).map((run) => (
              <RunLine key={`${run.at} ${run.outcome} ${run.n ?? ""}`} id={id} run={run} usual={usual} />
            ))}
          </tbody>
        </table>
      )}
      {(query.hasNextPage || runs.length > most) && (
        <Button className="check-older" isBusy={query.isFetchingNextPage} onClick={showMore}>
          {words.older}
        </Button>
      )}
    </>
  );
}

/** The shape that stands for how a run went. */
function shapeOf({ outcome, isLate }: Pick<RunRow, "outcome" | "isLate">): DrawnState {
  switch (outcome) {
    case "success":
      return isLate ? "late" : "up";
    case "fail":
    case "missing":
      return "down";
    case "running":
      return "running";
    case "unseen":
      return "new";
  }
}

function RunLine({ id, run, usual }: { id: string; run: RunRow; usual: UsualDuration | null }) {
  const now = useMinute();
  const word = outcomeWord(run);
  const startedAt = run.startAt ?? run.at;
  const label = words.open(word, formatWhen(startedAt, { now, zone: readerZone }));
  const against =
    run.durationMs === null || usual === null || run.outcome !== "success"
      ? words.nothing
      : againstUsual(run.durationMs, usual);
  return (
    <tr className={run.n === null ? undefined : "is-link"}>
      <td>
        <span className="check-outcome">
          <StateShape state={shapeOf(run)} label={null} />
          {run.n === null ? (
            word
          ) : (
            <Link
              href={pageHref("run", { check: id, n: String(run.n) })}
              className="cover"
              aria-label={label}
            >
              {word}
            </Link>
          )}
        </span>
      </td>
      <td>
        <When at={startedAt} />
      </td>
      <td>{run.durationMs === null ? words.nothing : formatDuration(run.durationMs)}</td>
      <td className="is-wide">{against}</td>
      <td className="is-wide">
        {run.excerpt !== null && (
          <code className="clip" dir="auto">
            {run.excerpt}
          </code>
        )}
      </td>
    </tr>
  );
}
