// One delivery: its request, response, duration and next attempt, also while a test is being sent.
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import type { Delivery } from "../../src/contract/api/channels.ts";
import { call } from "../api.ts";
import { LearnMore } from "../ui/docs-link.tsx";
import { StateShape } from "../ui/marks.tsx";
import { Until } from "../ui/when.tsx";
import { channelsWords, deliveryOutcome, reasonAdvice } from "../words/channels.ts";
import { formatDuration } from "../words/format.ts";

const ASK_EVERY_MS = 700;

/** Polls until the message was attempted. */
export function Watched({
  project,
  first,
  onDone,
}: {
  project: string;
  first: Delivery;
  onDone: () => void;
}) {
  const query = useQuery({
    queryKey: ["delivery", first.id],
    queryFn: () => call("getDelivery", { project, delivery: first.id }),
    initialData: first,
    refetchInterval: ({ state }) => (isTried(state.data) ? false : ASK_EVERY_MS),
  });
  const delivery = query.data;
  const isOver = isTried(delivery);
  useEffect(() => {
    if (isOver) onDone();
    // The list is refetched once the result is known.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [isOver]);
  return (
    <div aria-live="polite">
      {isOver ? (
        <div className={`channels-result is-${delivery.state}`}>
          <DeliveryDetail delivery={delivery} isMarked />
        </div>
      ) : (
        <p className="muted">{channelsWords.testing.waits}</p>
      )}
    </div>
  );
}

function isTried(delivery: Delivery | undefined): boolean {
  return (
    delivery !== undefined &&
    (delivery.state !== "pending" || delivery.responseCode !== null || delivery.reason !== null)
  );
}

const SHAPES = {
  pending: "late",
  sent: "up",
  merged: "up",
  withdrawn: "paused",
  skipped: "paused",
  dead: "down",
} as const;

export function DeliveryMark({ delivery }: { delivery: Delivery }) {
  return (
    <span className="channels-outcome">
      <StateShape state={SHAPES[delivery.state]} label={null} />
      <span>{deliveryOutcome(delivery)}</span>
    </span>
  );
}

/** `isMarked`: shows the outcome too, if nothing above shows it. */
export function DeliveryDetail({ delivery, isMarked }: { delivery: Delivery; isMarked: boolean }) {
  const { attemptedAt, settledAt, attempts, nextAttemptAt, request, response } = delivery;
  const advice = delivery.state === "sent" ? null : reasonAdvice(delivery.reason);
  const tookMs = attemptedAt === null || settledAt === null ? null : settledAt - attemptedAt;
  return (
    <div className="channels-detail">
      {isMarked && <DeliveryMark delivery={delivery} />}
      {advice !== null && (
        <p>
          {advice} <LearnMore to="privateAddresses" />
        </p>
      )}
      <p className="muted">
        {channelsWords.attempts(attempts)}
        {tookMs !== null && ` · ${channelsWords.duration(formatDuration(tookMs))}`}
        {nextAttemptAt !== null && (
          <>
            {" "}
            · {channelsWords.nextTry} <Until at={nextAttemptAt} />
          </>
        )}
      </p>
      {request !== null && <Excerpt label={channelsWords.request} text={request} />}
      {response !== null && response !== "" && <Excerpt label={channelsWords.response} text={response} />}
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
