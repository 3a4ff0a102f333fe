// A surprise of the forecast: when, what, why, and what to do about it.
import "./forecast-entry.css";
import { useQueryClient } from "@tanstack/react-query";
import { Fragment, useState } from "react";
import { Link } from "wouter";
import type { ForecastEntry } from "../../src/contract/api/forecast.ts";
import { call } from "../api.ts";
import { pageHref } from "../page-location.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { toast, toastError } from "../ui/toast.tsx";
import { badgeText, forecastWords as words } from "../words/forecast.ts";
import { words as shared } from "../words/shared.ts";

export type Fix = ForecastEntry["fixes"][number];
type Change = Fix["changes"][number];

/** All cached forecasts have this key as their prefix. */
export const forecastKey = ["forecast"] as const;

export function Badge({ entry }: { entry: Pick<ForecastEntry, "kind" | "count"> }) {
  return (
    <span className={`forecast-badge is-${entry.kind}`} aria-hidden="true">
      {badgeText(entry)}
    </span>
  );
}

const CODE = /`([^`]*)`/;

/** Expressions are in backticks. */
function Why({ text }: { text: string }) {
  return text
    .split(CODE)
    .map((part, index) =>
      index % 2 === 0 ? <Fragment key={index}>{part}</Fragment> : <code key={index}>{part}</code>,
    );
}

/** "1 Nov", with the year if it is another one. */
export function shortDate(date: string, now: number): string {
  const day = new Date(`${date}T00:00:00Z`);
  const isSameYear = day.getUTCFullYear() === new Date(now).getUTCFullYear();
  const month = new Intl.DateTimeFormat("en-US", { month: "short", timeZone: "UTC" }).format(day);
  return `${day.getUTCDate()} ${month}${isSameYear ? "" : ` ${day.getUTCFullYear()}`}`;
}

export function weekday(date: string): string {
  return new Intl.DateTimeFormat("en-GB", { weekday: "long", timeZone: "UTC" }).format(
    new Date(`${date}T00:00:00Z`),
  );
}

function When({ entry, now }: { entry: ForecastEntry; now: number }) {
  const [date, ...more] = entry.dates;
  if (date === undefined) {
    const isEnded = entry.kind === "ended";
    return (
      <p className="forecast-when">
        <b>{isEnded ? words.ended : words.everyMonth}</b>
        {!isEnded && words.timesPerMonth(entry.count)}
      </p>
    );
  }
  return (
    <p className="forecast-when">
      <b>
        <time dateTime={date}>{shortDate(date, now)}</time>
      </b>
      {more.length === 0 ? weekday(date) : words.moreDays(more.length)}
    </p>
  );
}

type EntryProps = {
  entry: ForecastEntry;
  project: string;
  mayEdit: boolean;
  now: number;
  /** Only for this check; null: for all checks of the entry. */
  check: string | null;
};

export function ForecastItem({ entry, project, mayEdit, now, check }: EntryProps) {
  const [fix, setFix] = useState<Fix | null>(null);
  const intend = useIntend(project);
  const { title, fixes, isIntended } = entry;
  return (
    <article className={`forecast-item${isIntended ? " is-intended" : ""}`}>
      <When entry={entry} now={now} />
      <div>
        <h3>
          <Badge entry={entry} />
          <span dir="auto">{title}</span>
        </h3>
        <p className="forecast-why">
          <Why text={entry.why} />
        </p>
        {check === null && <CheckLinks entry={entry} />}
        {mayEdit && (
          <div className="forecast-acts">
            {!isIntended &&
              fixes.map((one) => (
                <Button key={one.kind} aria-label={words.fixOf(one.label, title)} onClick={() => setFix(one)}>
                  {one.label}
                </Button>
              ))}
            <Button
              kind="bare"
              aria-label={isIntended ? words.unmarkOf(title) : words.intendOf(title)}
              isBusy={intend.isBusy}
              onClick={() =>
                void intend.mark({
                  entry: entry.id,
                  check,
                  isIntended: !isIntended,
                  done: isIntended ? words.unmarkDone(title) : words.intendedDone(title),
                })
              }
            >
              {isIntended ? words.unmark : words.intend}
            </Button>
          </div>
        )}
      </div>
      {fix !== null && (
        <FixDialog
          project={project}
          entry={entry.id}
          fix={fix}
          title={fix.label}
          rest={check === null ? entry.checkCount - fix.changes.length : 0}
          onClose={() => setFix(null)}
        />
      )}
    </article>
  );
}

const LINKS_MAX = 5;

function CheckLinks({ entry: { checks, checkCount } }: { entry: ForecastEntry }) {
  const shown = checks.slice(0, LINKS_MAX);
  const rest = checkCount - shown.length;
  return (
    <p className="forecast-checks">
      <span className="sr">{words.checks}: </span>
      {shown.map(({ id, name }, index) => (
        <Link key={id ?? index} href={pageHref("check", { check: id ?? "" })} dir="auto">
          {name === "" ? words.unnamed : name}
        </Link>
      ))}
      {rest > 0 && <span>{words.moreChecks(rest)}</span>}
    </p>
  );
}

export type Marking = { entry: string; check: string | null; isIntended: boolean; done: string };

/** Marks an entry as intended, or no longer; both can be undone. */
export function useIntend(project: string) {
  const client = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const send = async ({ entry, check, isIntended }: Omit<Marking, "done">) => {
    const body = { entry, isIntended, ...(check !== null && { check }) };
    try {
      await call("setForecastIntended", { project, body });
    } finally {
      await client.invalidateQueries({ queryKey: forecastKey });
    }
  };
  const mark = async ({ done, ...marking }: Marking) => {
    setBusy(true);
    try {
      await send(marking);
      toast({ text: done, undo: () => send({ ...marking, isIntended: !marking.isIntended }) });
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, mark };
}

type FixProps = {
  project: string;
  entry: string;
  fix: Pick<Fix, "kind" | "changes">;
  title: string;
  /** How many checks of the entry the fix does not change yet. */
  rest: number;
  onClose: () => void;
};

/** Shows the new schedules before they are saved. */
export function FixDialog({ project, entry, fix, title, rest, onClose }: FixProps) {
  const client = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const refresh = () =>
    Promise.all([
      client.invalidateQueries({ queryKey: forecastKey }),
      client.invalidateQueries({ queryKey: ["check"] }),
    ]);
  const apply = async () => {
    setBusy(true);
    const changes = fix.changes.flatMap(({ check, newSchedule, newTz }) =>
      check === null ? [] : [{ check, newSchedule, newTz }],
    );
    try {
      const body = { entry, fix: fix.kind, changes };
      const { changed, previous, version } = await call("fixForecast", { project, body });
      onClose();
      const undo = async () => {
        await call("setSchedules", { project, body: { groups: previous, version } });
        await refresh();
      };
      toast(changed === 0 ? { text: words.fix.already } : { text: words.fix.done(changed), undo });
    } catch (error) {
      onClose();
      toastError(error);
    }
    await refresh();
  };
  return (
    <Dialog
      isOpen
      title={title}
      description={words.fix.about}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button kind="primary" isBusy={isBusy} onClick={() => void apply()}>
            {words.fix.act(fix.changes.length)}
          </Button>
        </>
      }
    >
      <table className="table forecast-changes">
        <thead>
          <tr>
            <th scope="col">{words.fix.check}</th>
            <th scope="col">{words.fix.before}</th>
            <th scope="col">{words.fix.after}</th>
          </tr>
        </thead>
        <tbody>
          {fix.changes.map((change, index) => (
            <ChangeRow key={change.check ?? index} change={change} />
          ))}
        </tbody>
      </table>
      {rest > 0 && <p className="forecast-rest">{words.fix.rest(rest)}</p>}
    </Dialog>
  );
}

function ChangeRow({ change: { name, schedule, tz, newSchedule, newTz } }: { change: Change }) {
  return (
    <tr>
      <th scope="row" dir="auto">
        {name === "" ? words.unnamed : name}
      </th>
      <td>
        <code>{schedule}</code> <span>{tz}</span>
      </td>
      <td>
        <code>{newSchedule}</code> <span>{newTz}</span>
      </td>
    </tr>
  );
}
