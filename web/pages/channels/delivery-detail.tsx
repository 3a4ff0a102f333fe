// One delivery in full: what was sent, what came back, how long it took, and what happens next.
import type { DeliveryRow } from "../../../src/contract/web/channels.ts";
import { StateShape } from "../../ui/marks/state-shape.tsx";
import { Until } from "../../ui/when.tsx";
import { channelsWords as words, deliveryOutcome, reasonAdvice } from "../../words/channels.ts";
import { formatDuration } from "../../words/time.ts";

const SHAPES = {
  pending: "late",
  sent: "up",
  merged: "up",
  withdrawn: "paused",
  skipped: "paused",
  dead: "down",
} as const;

export function DeliveryMark({ delivery }: { delivery: DeliveryRow }) {
  return (
    <span className="channels-outcome">
      <StateShape state={SHAPES[delivery.state]} label={null} />
      <span>{deliveryOutcome(delivery)}</span>
    </span>
  );
}

/** `isMarked`: the outcome is said too, where nothing above says it. */
export function DeliveryDetail({ delivery, isMarked }: { delivery: DeliveryRow; isMarked: boolean }) {
  const { attemptedAt, settledAt, attempts, nextTryAt, request, response } = delivery;
  const advice = delivery.state === "sent" ? null : reasonAdvice(delivery.reason);
  const tookMs = attemptedAt === null || settledAt === null ? null : settledAt - attemptedAt;
  return (
    <div className="channels-detail">
      {isMarked && <DeliveryMark delivery={delivery} />}
      {advice !== null && <p>{advice}</p>}
      <p className="muted">
        {words.attempts(attempts)}
        {tookMs !== null && ` · ${words.took(formatDuration(tookMs))}`}
        {nextTryAt !== null && (
          <>
            {" "}
            · {words.nextTry} <Until at={nextTryAt} />
          </>
        )}
      </p>
      {request !== null && <Excerpt label={words.request} text={request} />}
      {response !== null && response !== "" && <Excerpt label={words.response} text={response} />}
    </div>
  );
}

function Excerpt({ label, text }: { label: string; text: string }) {
  return (
    <div className="field">
      <b>{label}</b>
      <div className="code">
        <pre tabIndex={0} aria-label={label}>
          {text}
        </pre>
      </div>
    </div>
  );
}
