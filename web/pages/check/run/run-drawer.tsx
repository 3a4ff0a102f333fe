// One run over the page of its check, under its own address: what is known of it, its output, and whom it caused to be
// told. The neighbours are a key away.
import type { DrawnState } from "../../../../src/contract/web/check-row.ts";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useLocation } from "wouter";
import type { CheckPage } from "../../../../src/contract/web/check-page.ts";
import type { Run } from "../../../../src/contract/web/history.ts";
import { get } from "../../../api/api.ts";
import { readerZone } from "../../../boot/boot.ts";
import { useShortcuts } from "../../../keys/shortcuts.ts";
import { useMinute } from "../../../live/clock.ts";
import { pageHref } from "../../../shell/page-address.ts";
import { Button } from "../../../ui/button.tsx";
import { Drawer } from "../../../ui/dialog.tsx";
import { StateShape } from "../../../ui/marks/state-shape.tsx";
import { Queried } from "../../../ui/page-state.tsx";
import { checkKeys } from "../../../words/check/page.ts";
import { runTitle, runWords as words } from "../../../words/check/run.ts";
import { formatWhen } from "../../../words/time.ts";
import { checkKey } from "../../../api/refresh-check.ts";
import { Caused } from "./caused.tsx";
import { RunFacts } from "./run-facts.tsx";
import { RunOutput } from "./run-output.tsx";

const SHAPES: Readonly<Record<Run["kind"], DrawnState>> = {
  success: "up",
  fail: "down",
  start: "running",
  log: "new",
  ign: "paused",
};

export function RunDrawer({ page, n }: { page: CheckPage; n: string | null }) {
  const { id } = page.row;
  const [, navigate] = useLocation();
  const isOpen = n !== null;
  const query = useQuery({
    queryKey: [...checkKey(id), "run", n],
    queryFn: () => get<Run>(`/checks/${id}/runs/${n}`),
    enabled: isOpen,
    placeholderData: keepPreviousData,
    retry: false,
  });
  const run = isOpen ? query.data : undefined;
  const go = (to: number | null | undefined) => {
    if (to !== null && to !== undefined)
      navigate(pageHref("run", { check: id, n: String(to) }), { replace: true });
  };
  useRunKeys({ isOpen, older: () => go(run?.olderN), newer: () => go(run?.newerN) });
  const now = useMinute();
  const title =
    run === undefined ? (
      words.title
    ) : (
      <span className="run-title">
        <StateShape state={SHAPES[run.kind]} size={20} label={null} />
        {runTitle(run)}
      </span>
    );
  return (
    <Drawer
      isOpen={isOpen}
      onClose={() => navigate(pageHref("check", { check: id }))}
      title={title}
      className="run-drawer"
      {...(run !== undefined && {
        description: `${formatWhen(run.at, { now, zone: readerZone })} · ${words.number(run.n)}`,
      })}
      footer={
        <>
          <Button keys="ArrowLeft" disabled={!run?.olderN} onClick={() => go(run?.olderN)}>
            ← {words.older}
          </Button>
          <Button keys="ArrowRight" disabled={!run?.newerN} onClick={() => go(run?.newerN)}>
            {words.newer} →
          </Button>
        </>
      }
    >
      <Queried query={query}>{(shown) => <Shown page={page} run={shown} />}</Queried>
    </Drawer>
  );
}

function Shown({ page, run }: { page: CheckPage; run: Run }) {
  return (
    <div className="run">
      <RunFacts run={run} usual={page.usual} checkZone={page.settings.tz} />
      <Caused id={page.row.id} run={run} />
      {/* A run of another number starts with its own first tab and without a search. */}
      <RunOutput key={run.n} id={page.row.id} run={run} />
    </div>
  );
}

/** Shortcuts do not reach into windows by themselves; these belong to this one. */
function useRunKeys({
  isOpen,
  older,
  newer,
}: {
  isOpen: boolean;
  older: () => void;
  newer: () => void;
}): void {
  const { group } = checkKeys;
  const unlessTyping = (deed: () => void) => (event: KeyboardEvent) => {
    const target = event.target instanceof HTMLElement ? event.target : null;
    if (target?.closest("input, textarea, select, [role=tab]") === null) deed();
  };
  useShortcuts(
    isOpen
      ? [
          { keys: "ArrowLeft", says: checkKeys.older, group, run: unlessTyping(older), always: true },
          { keys: "ArrowRight", says: checkKeys.newer, group, run: unlessTyping(newer), always: true },
        ]
      : [],
  );
}
