// The hops of each message: when it was owed, when it left, when the other side had answered, and what.
import type { Explanation } from "../../../../src/contract/web/history.ts";
import { readerZone } from "../../../boot/boot.ts";
import { useMinute } from "../../../live/clock.ts";
import {
  type Delivery,
  explainWords,
  formatMoment,
  hopWords as words,
  toldText,
} from "../../../words/check/explain.ts";
import { formatDuration } from "../../../words/time.ts";

export function Hops({ explanation: { flip, steps } }: { explanation: Explanation }) {
  const reader = { now: useMinute(), zone: readerZone };
  const deliveries = steps.filter((step): step is Delivery => step.kind === "told");
  return (
    <ul className="check-hops" aria-label={explainWords.hops}>
      {deliveries.map((delivery) => (
        <li key={delivery.id}>
          <b dir="auto" className={delivery.state === "dead" ? "is-bad" : undefined}>
            {toldText(delivery, reader)}
          </b>
          <ol>
            {hopsOf(delivery, flip.at).map(({ at, text, sinceMs }) => (
              <li key={text}>
                <time>{formatMoment(at, readerZone)}</time> {text}
                {sinceMs > 0 && <span className="muted"> +{formatDuration(sinceMs)}</span>}
              </li>
            ))}
          </ol>
        </li>
      ))}
    </ul>
  );
}

type Hop = { at: number; text: string; sinceMs: number };

function hopsOf({ createdAt, attemptedAt, settledAt, attempts }: Delivery, flipAt: number): Hop[] {
  const moments: [number | null, string][] = [
    [createdAt, words.owed],
    [attemptedAt, attempts > 1 ? words.lastTry(attempts) : words.left],
    [settledAt, words.settled],
  ];
  let before = flipAt;
  return moments.flatMap(([at, text]) => {
    if (at === null) return [];
    const hop = { at, text, sinceMs: Math.max(0, at - before) };
    before = at;
    return [hop];
  });
}
