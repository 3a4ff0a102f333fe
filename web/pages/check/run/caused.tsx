// The change that a run caused, and who was told of it.
import { Link } from "wouter";
import type { Run } from "../../../../src/contract/web/history.ts";
import { readerZone } from "../../../boot/boot.ts";
import { useMinute } from "../../../live/clock.ts";
import { pageHref } from "../../../shell/page-address.ts";
import { formatMoment, toldText } from "../../../words/check/explain.ts";
import { runWords as words } from "../../../words/check/run.ts";

export function Caused({ id, run: { flip, deliveries } }: { id: string; run: Run }) {
  const reader = { now: useMinute(), zone: readerZone };
  if (flip === null) return null;
  return (
    <section className="run-caused" aria-label={words.caused}>
      <h3>{words.caused}</h3>
      <p>
        {flip.to === "down" ? words.wentDown : words.cameUp}{" "}
        {flip.takenBackAt !== null && `${words.takenBack} `}
        {deliveries.length === 0 && words.toldNobody}{" "}
        <Link className="link" href={`${pageHref("check", { check: id })}?flip=${flip.id}`}>
          {words.explain}
        </Link>
      </p>
      <ul>
        {deliveries.map((delivery) => {
          const at = delivery.settledAt ?? delivery.attemptedAt ?? delivery.createdAt;
          return (
            <li key={delivery.id} className={delivery.state === "dead" ? "is-bad" : undefined}>
              <time>{formatMoment(at, readerZone)}</time>
              <span>{toldText({ kind: "told", at, ...delivery }, reader)}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
