// The way from nothing to a signal on screen: how to make the first check, and the line that sends its first signal.
// The page sees it arrive.
import { checkName } from "../../../src/contract/web/list-words.ts";
import { useRef } from "react";
import { Link } from "wouter";
import type { CheckRow } from "../../../src/contract/web/check-row.ts";
import { WaitingFor } from "../../parts/waiting/waiting.tsx";
import { pageHref } from "../../shell/page-address.ts";
import { Button } from "../../ui/button.tsx";
import { FuseBar } from "../../ui/marks/fuse.tsx";
import { StateShape } from "../../ui/marks/state-shape.tsx";
import { Empty } from "../../ui/page-state.tsx";
import { checksWords, firstSignalWords } from "../../words/checks.ts";
import { waitingWords } from "../../words/welcome.ts";

type NothingYetProps = { mayEdit: boolean; onNew: () => void; onCrontab: () => void };

export function NothingYet({ mayEdit, onNew, onCrontab }: NothingYetProps) {
  if (!mayEdit) {
    return (
      <Empty title={firstSignalWords.empty}>
        <p>{firstSignalWords.emptyReadOnly}</p>
      </Empty>
    );
  }
  return (
    <section className="nothing">
      <div>
        <h2>{firstSignalWords.empty}</h2>
        <ol className="nothing-steps">
          {firstSignalWords.steps.map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
        <div className="nothing-acts">
          <Button kind="primary" keys="n" onClick={onNew}>
            {checksWords.newCheck}
          </Button>
          <Button onClick={onCrontab}>{checksWords.fromCrontab}</Button>
        </div>
      </div>
      <FuseLesson />
    </section>
  );
}

const LESSON_MS = 100_000;

/** A fuse with its parts named, as it will stand in every row. */
function FuseLesson() {
  const { signal, expected, alert } = firstSignalWords.fuseAt;
  const fuse = { fromAt: 0, lateAt: 0.78 * LESSON_MS, alertAt: LESSON_MS };
  return (
    <figure className="lesson">
      <FuseBar row={{ state: "up", runningSince: null, fuse }} now={0.46 * LESSON_MS} size="page" />
      <span className="lesson-marks" aria-hidden="true">
        <span>{signal}</span>
        <span>{expected}</span>
        <span>{alert}</span>
      </span>
      <figcaption>{firstSignalWords.fuse}</figcaption>
    </figure>
  );
}

/**
 * The line for a check that has never been heard of: the one just made, or the only one there is. It stays when the
 * signal has come, to say so.
 */
export function FirstSignal(props: {
  project: string;
  rows: ReadonlyMap<string, CheckRow>;
  madeId: string | null;
}) {
  const { project, rows, madeId } = props;
  const shownId = useRef<string | null>(null);
  const [only] = rows.size === 1 ? rows.values() : [];
  const id = madeId ?? shownId.current ?? (only?.state === "new" ? only.id : null);
  const row = id === null ? undefined : rows.get(id);
  if (row === undefined) return null;
  shownId.current = row.id;
  const name = checkName(row);
  const channelsOf = row.channels === 0 ? project : null;
  if (row.lastPingAt !== null) {
    return (
      <section className="first is-arrived" role="status">
        <StateShape state="up" size={28} />
        <div>
          <h2>{firstSignalWords.arrived(name)}</h2>
          <p>
            {channelsOf === null ? firstSignalWords.arrivedText : waitingWords.arrivedUntold}{" "}
            {channelsOf === null ? (
              <Link className="link" href={pageHref("check", { check: row.id })}>
                {firstSignalWords.open}
              </Link>
            ) : (
              <Link className="link" href={pageHref("channels", { project: channelsOf })}>
                {waitingWords.addChannel}
              </Link>
            )}
          </p>
        </div>
      </section>
    );
  }
  return (
    <section className="first">
      <h2>{firstSignalWords.send(name)}</h2>
      <WaitingFor check={row.id} project={project} />
    </section>
  );
}
