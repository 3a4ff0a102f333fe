// The steps of an explanation as a list: the time on the left, the sentence on the right, trouble and success marked.
import { Link } from "wouter";
import type { Explanation, ExplanationStep } from "../../../../src/contract/web/history.ts";
import { readerZone } from "../../../boot/boot.ts";
import { useMinute } from "../../../live/clock.ts";
import { pageHref } from "../../../shell/page-address.ts";
import { formatMoment, stepText } from "../../../words/check/explain.ts";
import { formatDay, formatExact } from "../../../words/time.ts";

export function Steps({ id, explanation }: { id: string; explanation: Explanation }) {
  const now = useMinute();
  const reader = { now, zone: readerZone };
  return (
    <ol className="check-steps">
      {explanation.steps.map((step, index) => {
        const day = formatDay(step.at, reader);
        const before = explanation.steps[index - 1];
        const isNewDay = before === undefined || formatDay(before.at, reader) !== day;
        return (
          <li key={index} className={`is-${toneOf(step)}`}>
            <time dateTime={new Date(step.at).toISOString()} title={formatExact(step.at, readerZone)}>
              {isNewDay && !(index === 0 && day === "today") && <span className="step-day">{day}</span>}
              {formatMoment(step.at, readerZone)}
            </time>
            <StepText id={id} step={step} text={stepText(step, { zone: explanation.zone, reader })} />
          </li>
        );
      })}
    </ol>
  );
}

function StepText({ id, step, text }: { id: string; step: ExplanationStep; text: string }) {
  const n = step.kind === "success" || step.kind === "failed" ? step.n : null;
  if (n === null) return <span>{text}</span>;
  return (
    <span>
      <Link className="link" href={pageHref("run", { check: id, n: String(n) })}>
        {text}
      </Link>
    </span>
  );
}

function toneOf(step: ExplanationStep): string {
  if (step.kind === "down" || step.kind === "failed") return "bad";
  if (step.kind === "told") return step.state === "dead" ? "bad" : "told";
  return step.kind === "success" || step.kind === "up" ? "good" : "plain";
}
