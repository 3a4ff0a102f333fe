// Why the check was reported, beside its history; and the same at length in a drawer, with the sum of the time zone and
// how long each hop took.
import { checkName } from "../../../../src/contract/web/list-words.ts";
import type { CheckPage } from "../../../../src/contract/web/check-page.ts";
import type { Explanation, ExplanationStep } from "../../../../src/contract/web/history.ts";
import { readerZone } from "../../../boot/boot.ts";
import { useMinute } from "../../../live/clock.ts";
import { Drawer } from "../../../ui/dialog.tsx";
import { Queried } from "../../../ui/page-state.tsx";
import {
  explainWords as words,
  firstDeliveryMs,
  silenceOf,
  summaryOf,
  zoneSum,
} from "../../../words/check/explain.ts";
import { TrackPicture } from "../track/track.tsx";
import { trackOfSteps } from "../track/track-arithmetic.ts";
import { useExplanation } from "../use-check.ts";
import { Hops } from "./hops.tsx";
import { Steps } from "./steps.tsx";

export function WhatHappened({ page, onMore }: { page: CheckPage; onMore: () => void }) {
  const query = useExplanation(page.row.id, { flip: null, isWanted: page.lastFlip !== null });
  // A check that has only come up for the first time has no alert to tell of.
  if (page.lastFlip === null || query.isError || query.data?.flip.to === "up") return null;
  return (
    <section
      className={`panel${page.row.state === "down" ? " check-happened" : ""}`}
      aria-labelledby="check-happened"
    >
      <h2 id="check-happened">{page.row.state === "down" ? words.title : words.past}</h2>
      <Queried query={query} rows={4}>
        {(explanation) => (
          <>
            <Steps id={page.row.id} explanation={explanation} />
            <button type="button" className="link check-panel-more" onClick={onMore}>
              {words.more}
            </button>
          </>
        )}
      </Queried>
    </section>
  );
}

type DrawerProps = { page: CheckPage; flip: number | null; isOpen: boolean; onClose: () => void };

export function ExplainDrawer({ page, flip, isOpen, onClose }: DrawerProps) {
  const query = useExplanation(page.row.id, { flip, isWanted: isOpen });
  const name = checkName(page.row);
  const title = query.data?.flip.to === "up" ? words.drawerUp(name) : words.drawer(name);
  return (
    <Drawer isOpen={isOpen} onClose={onClose} title={title}>
      <Queried query={query}>
        {(explanation) => <AtLength id={page.row.id} explanation={explanation} />}
      </Queried>
    </Drawer>
  );
}

function AtLength({ id, explanation }: { id: string; explanation: Explanation }) {
  const reader = { now: useMinute(), zone: readerZone };
  const { steps, zone, isEditedSince } = explanation;
  const expected = steps.find(isExpected);
  const track = trackOfSteps(steps, reader.now);
  const deliveredMs = firstDeliveryMs(explanation);
  const isTold = steps.some(({ kind }) => kind === "told");
  return (
    <div className="check-explained">
      <p className="check-summary">{summaryOf(explanation, reader)}</p>
      {track !== null && (
        <TrackPicture
          track={track}
          reader={reader}
          runningSince={steps.find(({ kind }) => kind === "started")?.at ?? null}
        />
      )}
      {isEditedSince && <p className="check-note">{words.edited}</p>}
      <h3>{words.steps}</h3>
      <Steps id={id} explanation={explanation} />
      {expected !== undefined && zone !== "UTC" && (
        <>
          <h3>{words.zone}</h3>
          <p>{zoneSum(expected, { zone, reader })}</p>
        </>
      )}
      <h3>{words.hops}</h3>
      {!isTold && <p className="muted">{silenceOf(explanation)}</p>}
      {isTold && <Hops explanation={explanation} />}
      {deliveredMs !== null && <p>{words.total(deliveredMs)}</p>}
    </div>
  );
}

function isExpected(step: ExplanationStep): step is Extract<ExplanationStep, { kind: "expected" }> {
  return step.kind === "expected";
}
