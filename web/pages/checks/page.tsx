// The page of a project's checks: what matters in the title, what needs somebody first, everything live.
import { checksTitle } from "../../../src/contract/web/list-words.ts";
import "./page.css";
import {
  lazy,
  Suspense,
  useCallback,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import type { CheckRow } from "../../../src/contract/web/check-row.ts";
import type { ChecksSnapshot } from "../../live/checks-snapshot.ts";
import { checksStore } from "../../live/checks-store.ts";
import type { PageProps } from "../../shell/page-address.ts";
import { usePageTitle } from "../../shell/page-title.ts";
import { Button } from "../../ui/button.tsx";
import { Keys } from "../../ui/keys.tsx";
import { Empty, Failed, Loading } from "../../ui/page-state.tsx";
import { actionWords } from "../../words/check-actions.ts";
import { checksWords } from "../../words/checks.ts";
import { words } from "../../words/shared.ts";
import { copyListAsCode } from "./actions.ts";
import { BulkBar } from "./bulk/bulk-bar.tsx";
import { DeletedChecks } from "./deleted.tsx";
import { Filters, ShowAllLink } from "./filters.tsx";
import { FirstSignal, NothingYet } from "./first-signal.tsx";
import { useListKeys } from "./list-keys.ts";
import { NewCheck } from "./new-check.tsx";
import { CheckList } from "./rows/list.tsx";
import { SilentBand } from "./silent-band.tsx";
import { ReceivingBand, SinceLine } from "./since-line.tsx";
import { type Picking, usePicking } from "./use-picking.ts";
import { type Shown, useShown } from "./use-shown.ts";
import { useView } from "./view/use-view.ts";
import { isFiltered, type View } from "./view/view.ts";

export function ChecksPage({ params }: PageProps) {
  const store = checksStore(params.project ?? "");
  const snapshot = useSyncExternalStore(store.listen, store.snapshot);
  if (snapshot.project === null) {
    return snapshot.trouble === null ? (
      <Loading rows={8} />
    ) : (
      <Failed error={snapshot.trouble} onRetry={store.reload} />
    );
  }
  return <Loaded snapshot={snapshot} project={snapshot.project} store={store} />;
}

type LoadedProps = {
  snapshot: ChecksSnapshot;
  project: NonNullable<ChecksSnapshot["project"]>;
  store: ReturnType<typeof checksStore>;
};

function Loaded({ snapshot, project, store }: LoadedProps) {
  const [view, setView] = useView();
  const [isHeld, setHeld] = useState(false);
  const [opened, setOpened] = useState<Opened>(null);
  const [madeId, setMadeId] = useState<string | null>(null);
  const search = useRef<HTMLInputElement>(null);
  // The letter that was typed is on screen first; the list follows.
  const shown = useShown(snapshot, useDeferredValue(view), isHeld);
  const picking = usePicking(shown.items);
  const mayEdit = project.may.includes("editChecks");
  const title = checksTitle(shown.counts, snapshot.total);
  usePageTitle(`${title} · ${project.name}`);
  const isEmpty = snapshot.total === 0;
  const openNew = () => setOpened("new");
  const { rows } = snapshot;
  useListKeys({
    project: project.id,
    picking,
    rows,
    mayEdit,
    onSearch: () => search.current?.focus(),
    onNew: openNew,
  });
  useEffect(() => {
    if (view.order === "created") store.putInOrder();
  }, [store, view.order]);
  const made = (row: CheckRow) => {
    store.take({ rows: [row], removed: [] });
    setMadeId(row.id);
    window.scrollTo({ top: 0 });
  };
  const list = { snapshot, store, view, shown, picking, mayEdit, onView: setView, onHold: setHeld };
  return (
    <>
      <header className="top">
        <h1>{title}</h1>
        {!isEmpty && <SearchField view={view} onView={setView} place={search} />}
        {mayEdit && !isEmpty && <NewButton onNew={openNew} />}
      </header>
      <ReceivingBand trouble={snapshot.receiving} place="above" />
      <SilentBand project={project} snapshot={snapshot} />
      <SinceLine since={snapshot.since} project={project.id} />
      <FirstSignal project={project.id} rows={rows} madeId={madeId} />
      {isEmpty ? (
        <NothingYet mayEdit={mayEdit} onNew={openNew} onCrontab={() => setOpened("crontab")} />
      ) : (
        <ListPart {...list} />
      )}
      <ReceivingBand trouble={snapshot.receiving} place="below" />
      <Foot snapshot={snapshot} view={view} shown={shown} onDeleted={() => setOpened("deleted")} />
      <PickedBar project={project} snapshot={snapshot} picking={picking} shown={shown} />
      <PageWindows
        project={project}
        mayEdit={mayEdit}
        opened={opened}
        onOpen={setOpened}
        onMade={made}
        onMadeMany={(many) => store.take({ rows: many, removed: [] })}
      />
    </>
  );
}

function NewButton({ onNew }: { onNew: () => void }) {
  return (
    <Button kind="primary" keys="n" onClick={onNew}>
      {checksWords.newCheck}
    </Button>
  );
}

type Opened = "new" | "crontab" | "deleted" | null;

type ListPartProps = {
  snapshot: ChecksSnapshot;
  store: LoadedProps["store"];
  view: View;
  shown: Shown;
  picking: Picking;
  mayEdit: boolean;
  onView: (view: View) => void;
  onHold: (isHeld: boolean) => void;
};

function ListPart({ snapshot, store, view, shown, picking, mayEdit, onView, onHold }: ListPartProps) {
  const see = useCallback((ids: string[]) => void store.fetchDetails(ids), [store]);
  return (
    <>
      <Filters view={view} shown={shown} onView={onView} />
      {shown.count === 0 && isFiltered(view) ? (
        <NoMatch view={view} />
      ) : (
        <CheckList
          items={shown.items}
          snapshot={snapshot}
          picked={picking.picked}
          cursor={picking.cursor}
          mayEdit={mayEdit}
          isAnyTold={shown.isAnyTold}
          onPick={picking.pick}
          onSee={see}
          onHold={onHold}
        />
      )}
    </>
  );
}

function PickedBar({
  project,
  snapshot,
  picking,
  shown,
}: Pick<LoadedProps, "project"> & Pick<ListPartProps, "snapshot" | "picking" | "shown">) {
  const picked = useMemo(
    () => [...picking.picked].flatMap((id) => snapshot.rows.get(id) ?? []),
    [picking.picked, snapshot],
  );
  if (picked.length === 0) return null;
  return (
    <BulkBar
      project={project}
      rows={picked}
      tags={shown.tags.map(({ name }) => name)}
      onDone={picking.clear}
    />
  );
}

type WindowsProps = Pick<LoadedProps, "project"> & {
  mayEdit: boolean;
  opened: Opened;
  onOpen: (opened: Opened) => void;
  onMade: (row: CheckRow) => void;
  onMadeMany: (rows: CheckRow[]) => void;
};

const CrontabWindow = lazy(async () => ({ default: (await import("./crontab/window.tsx")).CrontabWindow }));

function PageWindows({ project, mayEdit, opened, onOpen, onMade, onMadeMany }: WindowsProps) {
  const onClose = () => onOpen(null);
  return (
    <>
      <NewCheck
        project={project.id}
        isOpen={opened === "new"}
        onClose={onClose}
        onMade={onMade}
        onCrontab={() => onOpen("crontab")}
      />
      {opened === "crontab" && (
        <Suspense>
          <CrontabWindow project={project.id} onClose={onClose} onMade={onMadeMany} />
        </Suspense>
      )}
      <DeletedChecks project={project.id} mayEdit={mayEdit} isOpen={opened === "deleted"} onClose={onClose} />
    </>
  );
}

type SearchProps = {
  view: View;
  onView: (view: View) => void;
  place: React.RefObject<HTMLInputElement | null>;
};

function SearchField({ view, onView, place }: SearchProps) {
  return (
    <label className="search">
      <span className="sr">{checksWords.searchLabel}</span>
      <input
        ref={place}
        className="input"
        type="search"
        placeholder={checksWords.search}
        value={view.search}
        onChange={(event) => onView({ ...view, search: event.target.value })}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          onView({ ...view, search: "" });
          // Keys go on in the list. Where nothing was found there is none yet, and the empty field keeps the focus.
          document.querySelector<HTMLElement>(".list")?.focus();
        }}
      />
      {view.search === "" && <Keys keys="/" />}
    </label>
  );
}

function NoMatch({ view }: { view: View }) {
  return (
    <Empty title={checksWords.noMatch.title} action={<ShowAllLink view={view} />}>
      <p>{checksWords.noMatch.text}</p>
    </Empty>
  );
}

type FootProps = Pick<ListPartProps, "snapshot" | "view" | "shown"> & { onDeleted: () => void };

function Foot({ snapshot, view, shown, onDeleted }: FootProps) {
  const { total, isComplete, live } = snapshot;
  const { on, off, polling } = words.live;
  return (
    <footer className="status">
      <span className="figures">
        {isFiltered(view) && checksWords.shown(shown.count, total)}
        {!isFiltered(view) && total > 0 && checksWords.total(total)}
        {!isComplete && <span className="muted"> · {checksWords.loadingRest}</span>}
      </span>
      <button type="button" className="link status-bin" onClick={onDeleted}>
        {actionWords.deletedList.open}
      </button>
      {total > 0 && (
        <button type="button" className="link status-bin" onClick={() => void copyListAsCode(view.tags)}>
          {actionWords.asCode}
        </button>
      )}
      <span className={`live is-${live}`}>
        <i />
        {live === "live" ? on : live === "polling" ? polling : off}
      </span>
    </footer>
  );
}
