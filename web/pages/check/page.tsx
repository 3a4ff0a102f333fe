// The page of one check: what is expected, how it stands, how it has been, why it was reported, and who is told. A run
// opens in a drawer over it, under its own address.
import { useState } from "react";
import { useSearchParams } from "wouter";
import { LinkedText } from "../../parts/linked-text.tsx";
import type { CheckPage as Page } from "../../../src/contract/web/check-page.ts";
import { isMissing } from "../../api/api.ts";
import { mayIn } from "../../boot/rights.ts";
import { useShortcuts } from "../../keys/shortcuts.ts";
import { useShowProject } from "../../shell/current-project.ts";
import type { PageProps } from "../../shell/page-address.ts";
import { usePageTitle } from "../../shell/page-title.ts";
import { Notice } from "../../parts/section.tsx";
import { WaitingFor } from "../../parts/waiting/waiting.tsx";
import { Queried } from "../../ui/page-state.tsx";
import { checkKeys as keys, checkWords as words } from "../../words/check/page.ts";
import { type CheckActions, useCheckActions } from "./actions.ts";
import { SendSignal } from "./aside/send-signal.tsx";
import { ExplainDrawer, WhatHappened } from "./aside/what-happened.tsx";
import { WhoIsTold } from "./aside/who-is-told.tsx";
import { EditDrawer } from "./edit/edit-drawer.tsx";
import { Gone, MovedNote } from "./head/gone.tsx";
import { Head, type Over } from "./head/head.tsx";
import { Promised } from "./head/promise.tsx";
import { DurationChart } from "./history/durations.tsx";
import { Months } from "./history/months.tsx";
import { Ninety } from "./history/ninety.tsx";
import { Runs } from "./history/runs.tsx";
import { RunDrawer } from "./run/run-drawer.tsx";
import { TimeTrack } from "./track/track.tsx";
import { useCheckPage, useLiveRow, useRuns } from "./use-check.ts";
import { ClearDialog, CodeDialog, TransferDialog } from "./windows.tsx";
import "./page.css";
import "./windows.css";

export function CheckPage({ params }: PageProps) {
  const id = params.check ?? "";
  const query = useCheckPage(id);
  // A form with something typed into it keeps the page, so that nothing of that is lost.
  const [isTyped, setTyped] = useState(false);
  usePageTitle(words.tab);
  const { data } = query;
  // It was here, and is not there any more.
  const isGone = data !== undefined && isMissing(query.error);
  if (isGone && !isTyped) return <Gone page={data} />;
  return (
    <Queried query={query} rows={10}>
      {(page) => <Shown page={page} n={params.n ?? null} isGone={isGone} onUnsaved={setTyped} />}
    </Queried>
  );
}

type ShownProps = { page: Page; n: string | null } & Editing;

function Shown({ page, n, isGone, onUnsaved }: ShownProps) {
  const { projectId } = page;
  useShowProject(projectId);
  const row = useLiveRow(page);
  const runs = useRuns(row.id);
  const actions = useCheckActions(page);
  const [over, setOver] = useOver();
  // Where the reader found it; somebody may move it while it is read.
  const [home, setHome] = useState(projectId);
  const mayEdit = mayIn(projectId, "editChecks");
  useShortcuts(shortcutsOf({ page: { ...page, row }, mayEdit, actions, onOver: setOver }));
  const known = runs.data?.pages.flatMap((one) => one.runs) ?? [];
  const isNew = row.state === "new" && row.lastPingAt === null && row.runningSince === null;
  return (
    <>
      {home !== projectId && (
        <MovedNote
          page={page}
          from={home}
          mayEdit={mayEdit}
          onBack={() => setOver("transfer")}
          onClose={() => setHome(projectId)}
        />
      )}
      <Head page={page} row={row} mayEdit={mayEdit} actions={actions} onOver={setOver} />
      {page.quarantinedCount > 0 && (
        <Notice kind="bad" title={words.quarantined(page.quarantinedCount)}>
          <p>{words.quarantinedText}</p>
        </Notice>
      )}
      <Promised page={page} row={row} />
      {page.settings.desc !== "" && (
        <p className="check-desc" dir="auto">
          <LinkedText text={page.settings.desc} />
        </p>
      )}
      {isNew ? (
        <FirstSignal row={row} project={projectId} />
      ) : (
        <TimeTrack page={page} row={row} runs={known} />
      )}
      <div className="check-cols">
        <div className="check-main">
          {!isNew && (
            <>
              <Ninety days={page.days} ninety={page.ninety} />
              <DurationChart id={row.id} usual={page.usual} />
              <Runs id={row.id} query={runs} usual={page.usual} checkZone={page.settings.tz} />
              <Months months={page.months} />
            </>
          )}
          {isNew && <SendSignal page={page} />}
        </div>
        <aside className="check-aside">
          <WhatHappened page={page} onMore={() => setOver("explain")} />
          {!isNew && <SendSignal page={page} />}
          <WhoIsTold page={page} mayEdit={mayEdit} />
        </aside>
      </div>
      <Windows {...{ page, actions, over, mayEdit, home, isGone, onUnsaved }} onOver={setOver} />
      <RunDrawer page={page} n={n} />
    </>
  );
}

/** A check that has never been heard of: the line that sends its first signal, and what the server sees meanwhile. */
function FirstSignal({ row, project }: { row: Page["row"]; project: string }) {
  return (
    <section className="panel check-waiting" aria-labelledby="check-waiting">
      <h2 id="check-waiting">{words.first}</h2>
      <WaitingFor check={row.id} project={project} />
    </section>
  );
}

/** What lies over the page. The list of checks opens the form with `?edit=1`, mails an explanation with `?flip=`. */
function useOver(): [Over, (over: Over) => void] {
  const [search, setSearch] = useSearchParams();
  const asked = search.has("edit") ? "edit" : search.has("flip") ? "explain" : null;
  const [over, setOver] = useState<Over>(null);
  return [
    over ?? asked,
    (next) => {
      setOver(next);
      if (asked !== null && next === null) setSearch({}, { replace: true });
    },
  ];
}

/** Whether the check was deleted meanwhile, and what the form says of itself. */
type Editing = { isGone: boolean; onUnsaved: (isUnsaved: boolean) => void };

type Bound = { page: Page; mayEdit: boolean; actions: CheckActions; onOver: (over: Over) => void };

function shortcutsOf({ page, mayEdit, actions, onOver }: Bound) {
  const { group } = keys;
  const isPaused = page.row.state === "paused";
  return [
    ...(mayEdit
      ? [
          {
            keys: "p",
            says: keys.pause,
            group,
            run: () => void (isPaused ? actions.resume() : actions.pause()),
          },
          { keys: "e", says: keys.edit, group, run: () => onOver("edit") },
        ]
      : []),
    ...(page.lastFlip === null
      ? []
      : [{ keys: "w", says: keys.explain, group, run: () => onOver("explain") }]),
    { keys: "c", says: keys.code, group, run: () => onOver("code") },
    { keys: "u", says: keys.copyUrl, group, run: () => void actions.copyUrl() },
  ];
}

type WindowsProps = Bound & Editing & { over: Over; home: string };

function Windows({ page, actions, over, onOver, mayEdit, home, isGone, onUnsaved }: WindowsProps) {
  const [search] = useSearchParams();
  const flip = Number(search.get("flip"));
  const close = () => onOver(null);
  return (
    <>
      <ExplainDrawer
        page={page}
        flip={Number.isSafeInteger(flip) && flip > 0 ? flip : null}
        isOpen={over === "explain"}
        onClose={close}
      />
      {over === "edit" && mayEdit && <EditDrawer {...{ page, isGone, onUnsaved }} onClose={close} />}
      {over === "code" && <CodeDialog page={page} onClose={close} />}
      {over === "clear" && <ClearDialog page={page} actions={actions} onClose={close} />}
      {over === "transfer" && (
        <TransferDialog page={page} actions={actions} preferred={home} onClose={close} />
      )}
    </>
  );
}
