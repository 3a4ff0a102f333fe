// The check list page.
import "./checks.css";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import {
  type FormEvent,
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
import { Link, useLocation } from "wouter";
import type { ProjectHead } from "../../src/contract/api/boot.ts";
import type { DeletedCheck } from "../../src/contract/api/overview.ts";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import type { Silence } from "../../src/contract/api/silences.ts";
import {
  channelName,
  checkName,
  checksTitle,
  formatCount,
  SILENT_WORDS,
  silentAction,
  STATE_WORDS,
} from "../../src/contract/api/words.ts";
import { call } from "../api.ts";
import { otherProjects } from "../boot.ts";
import { type ChecksSnapshot, checksStore } from "../live/checks-store.ts";
import { pageHref, type PageProps, usePageTitle } from "../page-location.ts";
import { useDebounced } from "../parts/hooks.ts";
import { askToSilence, SilenceWindow } from "../parts/silencing.tsx";
import { MonitoringGapBand, SinceLine } from "../parts/since-away.tsx";
import { useShortcuts } from "../shortcuts.ts";
import { Button, Icon, IconButton, Keys } from "../ui/button.tsx";
import { Drawer } from "../ui/dialog.tsx";
import { DocsLink } from "../ui/docs-link.tsx";
import { StateShape } from "../ui/marks.tsx";
import { Menu, MenuChoice, MenuHead, MenuItem, MenuLine } from "../ui/menu.tsx";
import { Empty, Failed, Loading, Queried } from "../ui/page-state.tsx";
import { Ago, Until } from "../ui/when.tsx";
import { actionWords, checksWords, keyWords } from "../words/checks.ts";
import { words } from "../words/shared.ts";
import { silencedWords } from "../words/silences.ts";
import {
  connectAll,
  connectChecks,
  copyChosenAsCode,
  copyListAsCode,
  deleteChecks,
  moveChecks,
  pauseChecks,
  restoreCheck,
  resumeChecks,
  tagChecks,
} from "./checks-actions.ts";
import { CheckList } from "./checks-list.tsx";
import { acknowledge } from "./incident-actions.ts";
import { FirstSignal, NewCheck, NothingYet } from "./checks-new.tsx";
import { useChannels } from "./use-channels.ts";
import { useCurrentSilences } from "./use-silences.ts";
import {
  FILTER_STATES,
  isFiltered,
  ORDERS,
  type Picking,
  type Shown,
  toggled,
  usePicking,
  useShown,
  useView,
  type View,
  writeView,
} from "./checks-view.ts";

export function ChecksPage({ params }: PageProps) {
  const store = checksStore(params.project ?? "");
  const snapshot = useSyncExternalStore(store.listen, store.snapshot);
  if (snapshot.project === null) {
    return snapshot.error === null ? (
      <Loading rows={8} />
    ) : (
      <Failed error={snapshot.error} onRetry={store.reload} />
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
  // The typed letter is shown first; the list is updated after it.
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
    store.applyRows({ rows: [row], removed: [] });
    setMadeId(row.id);
    window.scrollTo({ top: 0 });
  };
  const list = { project, snapshot, store, view, shown, picking, mayEdit, onView: setView, onHold: setHeld };
  return (
    <>
      <header className="top">
        <h1>{title}</h1>
        <DocsLink to="checks" />
        {!isEmpty && <SearchField view={view} onView={setView} place={search} />}
        {mayEdit && !isEmpty && <NewButton onNew={openNew} />}
      </header>
      <NoChannelsBand project={project} snapshot={snapshot} />
      <SinceLine since={snapshot.since} project={project.id} />
      <FirstSignal project={project.id} rows={rows} madeId={madeId} />
      {isEmpty ? (
        <NothingYet mayEdit={mayEdit} onNew={openNew} onCrontab={() => setOpened("crontab")} />
      ) : (
        <ListPart {...list} />
      )}
      <MonitoringGapBand gap={snapshot.monitoringGap} />
      <Foot snapshot={snapshot} view={view} shown={shown} onDeleted={() => setOpened("deleted")} />
      <PickedBar project={project} snapshot={snapshot} picking={picking} shown={shown} />
      <PageWindows
        project={project}
        mayEdit={mayEdit}
        opened={opened}
        onOpen={setOpened}
        onMade={made}
        onMadeMany={(many) => store.applyRows({ rows: many, removed: [] })}
      />
      <SilenceWindow />
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

const NO_SILENCES: readonly Silence[] = [];

type ListPartProps = {
  project: ProjectHead;
  snapshot: ChecksSnapshot;
  store: LoadedProps["store"];
  view: View;
  shown: Shown;
  picking: Picking;
  mayEdit: boolean;
  onView: (view: View) => void;
  onHold: (isHeld: boolean) => void;
};

function ListPart({
  project,
  snapshot,
  store,
  view,
  shown,
  picking,
  mayEdit,
  onView,
  onHold,
}: ListPartProps) {
  const see = useCallback((ids: string[]) => void store.fetchDetails(ids), [store]);
  const { data: silences = NO_SILENCES } = useCurrentSilences(project.id);
  return (
    <>
      <Filters view={view} shown={shown} onView={onView} />
      {shown.count === 0 && isFiltered(view) ? (
        <NoMatch view={view} />
      ) : (
        <CheckList
          items={shown.items}
          snapshot={snapshot}
          silences={silences}
          picked={picking.picked}
          cursor={picking.cursor}
          mayEdit={mayEdit}
          hasAnyChannel={shown.hasAnyChannel}
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

const CrontabWindow = lazy(async () => ({ default: (await import("./checks-crontab.tsx")).CrontabWindow }));

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
          // The focus moves to the list. If nothing was found there is no list, and the field keeps the focus.
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

// Filters above the list: counts by status, tags, sort order.

/** With more tags than these, the others are found by typing. */
const TAGS_SHOWN = 60;
/** With so few tags there is no search field. */
const TAGS_IN_SIGHT = 8;

type FiltersProps = { view: View; shown: Pick<Shown, "counts" | "tags">; onView: (view: View) => void };

export function Filters({ view, shown, onView }: FiltersProps) {
  return (
    <div className="filters">
      <div className="filters-states" role="group" aria-label={checksWords.filterByState}>
        {FILTER_STATES.filter((state) => shown.counts[state] > 0 || view.states.includes(state)).map(
          (state) => (
            <button
              key={state}
              type="button"
              className="chip"
              aria-pressed={view.states.includes(state)}
              onClick={() => onView({ ...view, states: toggled(view.states, state) })}
            >
              <StateShape state={state} label={null} />
              {formatCount(shown.counts[state])} {STATE_WORDS[state]}
            </button>
          ),
        )}
      </div>
      <div className="filters-more">
        {shown.tags.length > 0 && <TagMenu view={view} tags={shown.tags} onView={onView} />}
        <OrderMenu view={view} onView={onView} />
      </div>
    </div>
  );
}

function TagMenu({ view, tags, onView }: Omit<FiltersProps, "shown"> & { tags: Shown["tags"] }) {
  const [text, setText] = useState("");
  const found = tags
    .filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()))
    .slice(0, TAGS_SHOWN);
  const isAny = view.tags.length === 0;
  return (
    <Menu
      align="end"
      label={checksWords.findTag}
      trigger={
        <button type="button" className="chip is-quiet" aria-pressed={!isAny}>
          {isAny ? checksWords.anyTag : checksWords.tagged(view.tags)}
          <Icon name="down" size={12} />
        </button>
      }
    >
      {tags.length > TAGS_IN_SIGHT && (
        <input
          className="input menu-find"
          placeholder={checksWords.findTag}
          aria-label={checksWords.findTag}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) =>
            event.key !== "Escape" && event.key !== "ArrowDown" && event.stopPropagation()
          }
        />
      )}
      {found.map(({ name, count, state }) => (
        <MenuChoice
          key={name}
          stays
          isChosen={view.tags.includes(name)}
          onPick={() => onView({ ...view, tags: toggled(view.tags, name) })}
        >
          <span className="menu-tag">
            <StateShape state={state} />
            <span className="clip">{name}</span>
            <span className="muted figures">{formatCount(count)}</span>
          </span>
        </MenuChoice>
      ))}
      {!isAny && (
        <>
          <MenuLine />
          <MenuItem onPick={() => onView({ ...view, tags: [] })}>{checksWords.clearTags}</MenuItem>
        </>
      )}
    </Menu>
  );
}

function OrderMenu({ view, onView }: Omit<FiltersProps, "shown">) {
  return (
    <Menu
      align="end"
      label={checksWords.orderLabel}
      trigger={
        <button type="button" className="chip is-quiet">
          {checksWords.order(checksWords.orders[view.order])}
          <Icon name="down" size={12} />
        </button>
      }
    >
      <MenuHead>{checksWords.orderNote}</MenuHead>
      {ORDERS.map((order) => (
        <MenuChoice key={order} isChosen={view.order === order} onPick={() => onView({ ...view, order })}>
          {checksWords.orders[order]}
        </MenuChoice>
      ))}
      <MenuLine />
      <MenuChoice isChosen={view.isGrouped} onPick={() => onView({ ...view, isGrouped: !view.isGrouped })}>
        {checksWords.groupByTag}
      </MenuChoice>
    </Menu>
  );
}

function allChecksHref(view: View): string {
  return `?${writeView({ ...view, search: "", tags: [], states: [] })}`;
}

/** Shown instead of rows when none match. */
export function ShowAllLink({ view }: { view: View }) {
  return (
    <Link className="button is-quiet" href={allChecksHref(view)}>
      {checksWords.noMatch.action}
    </Link>
  );
}

// A warning: checks are down and no channel is notified. One click assigns the existing channels, and can be undone.

/** Rows may change many times a second; the request is repeated after this long without a change. */
const STILL_MS = 400;

type NoChannelsBandProps = { project: ProjectHead; snapshot: ChecksSnapshot };

export function NoChannelsBand({ project, snapshot }: NoChannelsBandProps) {
  const client = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const down = useDebounced(downMark(snapshot), STILL_MS);
  const key = ["silent", project.id];
  const { data } = useQuery({
    queryKey: [...key, down],
    queryFn: () => call("listSilentChecks", { project: project.id }),
    placeholderData: (before) => before ?? snapshot.silent ?? undefined,
    // Channels are changed on other pages and by other people.
    refetchOnWindowFocus: true,
    staleTime: 0,
  });
  if (data === undefined || data.downCount === 0) return null;
  const { downCount, downIds, channels } = data;
  const rows = downIds.flatMap((id) => snapshot.rows.get(id) ?? []);
  // While the list is still loading, some of them may be missing.
  const isLoading = rows.length < downIds.length && !snapshot.isComplete;
  const assign = async () => {
    setBusy(true);
    await connectAll(project.id, rows, {
      channels,
      onChanged: () => void client.invalidateQueries({ queryKey: key }),
    });
    setBusy(false);
  };
  const action = silentAction(data, project);
  return (
    <section className="band no-channels-band" aria-label={SILENT_WORDS.label}>
      <Icon name="warn" />
      <div className="silent-text" role="status">
        <b>{SILENT_WORDS.title(downCount)}</b> {SILENT_WORDS.text(data)}
      </div>
      {action !== null &&
        (channels.length === 0 ? (
          <Link className="button is-primary" href={pageHref("channels", { project: project.id })}>
            {action}
          </Link>
        ) : (
          <Button kind="primary" isBusy={isBusy || isLoading} onClick={() => void assign()}>
            {action}
          </Button>
        ))}
    </section>
  );
}

/** A key that changes whenever a check goes down or up, or gets or loses a channel while it is down. */
function downMark({ rows, counts, isComplete, version }: ChecksSnapshot): string {
  if (!isComplete) return `${counts?.down ?? 0} ${version > 0}`;
  let down = 0;
  let channels = 0;
  for (const row of rows.values()) {
    if (row.state !== "down") continue;
    down += 1;
    channels += row.channelCount;
  }
  return `${down} ${channels}`;
}

// Actions on the selected rows, in a bar at the bottom.

type BulkBarProps = {
  project: ProjectHead;
  rows: readonly CheckRow[];
  tags: readonly string[];
  onDone: () => void;
};

export function BulkBar({ project, rows, tags, onDone }: BulkBarProps) {
  const does = (action: (project: string, rows: readonly CheckRow[]) => Promise<boolean>) => () =>
    void action(project.id, rows).then((isDone) => isDone && onDone());
  const others = otherProjects(project.id);
  return (
    <div className="bulk" role="toolbar" aria-label={actionWords.selected(rows.length)}>
      <span className="bulk-count figures" role="status">
        {actionWords.selected(rows.length)}
      </span>
      {rows.some(({ state }) => state !== "paused") && (
        <Button kind="bare" keys="p" onClick={does(pauseChecks)}>
          {actionWords.pause}
        </Button>
      )}
      {rows.some(({ state }) => state === "paused") && (
        <Button kind="bare" onClick={does(resumeChecks)}>
          {actionWords.resume}
        </Button>
      )}
      {rows.some(({ state }) => state === "down") && (
        <Button kind="bare" keys="a" onClick={does(acknowledgeChecks)}>
          {actionWords.acknowledge}
        </Button>
      )}
      <Button
        kind="bare"
        keys="s"
        onClick={() => askToSilence({ project: project.id, checks: rows.map(({ id }) => id), onDone })}
      >
        {silencedWords.act}
      </Button>
      <BulkTagMenu project={project.id} rows={rows} tags={tags} />
      <ScheduleButton project={project.id} rows={rows} onDone={onDone} />
      <ChannelMenu project={project.id} rows={rows} />
      {others.length > 0 && (
        <Menu trigger={<Button kind="bare">{actionWords.move}</Button>}>
          {others.map((other) => (
            <MenuItem key={other.id} onPick={does((from, chosen) => moveChecks(from, chosen, other))}>
              {other.name}
            </MenuItem>
          ))}
        </Menu>
      )}
      <Button kind="bare" onClick={() => void copyChosenAsCode(rows)}>
        {actionWords.asCode}
      </Button>
      <Button kind="bare" className="bulk-delete" onClick={does(deleteChecks)}>
        {actionWords.delete}
      </Button>
      <IconButton label={actionWords.clear} keys="Escape" onClick={onDone}>
        <Icon name="cross" />
      </IconButton>
    </div>
  );
}

/** Acknowledges the open incidents of the checks. */
function acknowledgeChecks(project: string, rows: readonly CheckRow[]): Promise<boolean> {
  return acknowledge(project, { checks: rows.map(({ id }) => id) });
}

const ScheduleWindow = lazy(async () => ({
  default: (await import("./checks-schedule.tsx")).ScheduleWindow,
}));

function ScheduleButton({
  project,
  rows,
  onDone,
}: Pick<BulkBarProps, "rows" | "onDone"> & { project: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button kind="bare" onClick={() => setOpen(true)}>
        {actionWords.schedule}
      </Button>
      {isOpen && (
        <Suspense>
          <ScheduleWindow project={project} rows={rows} onClose={() => setOpen(false)} onDone={onDone} />
        </Suspense>
      )}
    </>
  );
}

function BulkTagMenu({
  project,
  rows,
  tags,
}: {
  project: string;
  rows: readonly CheckRow[];
  tags: readonly string[];
}) {
  const [text, setText] = useState("");
  const add = (event: FormEvent) => {
    event.preventDefault();
    const given = [...new Set(text.split(/\s+/).filter((tag) => tag !== ""))];
    if (given.length > 0) void tagChecks(project, rows, { tags: given, isOn: true });
    setText("");
  };
  const worn = [...new Set(rows.flatMap((row) => row.tags))];
  return (
    <Menu trigger={<Button kind="bare">{actionWords.tags}</Button>}>
      <form className="menu-form" onSubmit={add}>
        <input
          className="input menu-find"
          list="known-tags"
          aria-label={actionWords.newTag}
          placeholder={actionWords.addTag}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => event.key !== "Escape" && event.stopPropagation()}
        />
        <datalist id="known-tags">
          {tags.map((tag) => (
            <option key={tag} value={tag}>
              {tag}
            </option>
          ))}
        </datalist>
        <Button type="submit">{actionWords.add}</Button>
      </form>
      {worn.length > 0 && <MenuHead>{actionWords.removeTag}</MenuHead>}
      {worn.map((tag) => (
        <MenuItem key={tag} onPick={() => void tagChecks(project, rows, { tags: [tag], isOn: false })}>
          {tag}
        </MenuItem>
      ))}
    </Menu>
  );
}

function ChannelMenu({ project, rows }: { project: string; rows: readonly CheckRow[] }) {
  const { data: channels = [] } = useChannels(project);
  if (channels.length === 0) return null;
  const entry = (isOn: boolean) =>
    channels.map((channel) => {
      const name = channelName(channel);
      return (
        <MenuItem
          key={`${channel.id} ${isOn}`}
          onPick={() => void connectChecks(project, rows, { channel: channel.id, name, isOn })}
        >
          {name}
        </MenuItem>
      );
    });
  return (
    <Menu trigger={<Button kind="bare">{actionWords.channels}</Button>}>
      <MenuHead>{actionWords.addChannel}</MenuHead>
      {entry(true)}
      <MenuHead>{actionWords.removeChannel}</MenuHead>
      {entry(false)}
    </Menu>
  );
}

// The trash: recently deleted checks, which can be restored.

type DeletedChecksProps = { project: string; mayEdit: boolean; isOpen: boolean; onClose: () => void };

export function DeletedChecks({ project, mayEdit, isOpen, onClose }: DeletedChecksProps) {
  const { title, about, none, back } = actionWords.deletedList;
  const cache = useQueryClient();
  const queryKey = ["deleted", project];
  const query = useQuery({
    queryKey,
    queryFn: () => call("listDeletedChecks", { project }),
    enabled: isOpen,
    staleTime: 0,
  });
  const takeBack = async (row: DeletedCheck) => {
    await restoreCheck(project, row);
    await cache.invalidateQueries({ queryKey });
  };
  return (
    <Drawer isOpen={isOpen} onClose={onClose} title={title} description={about}>
      <Queried query={query} rows={3}>
        {({ checks }) =>
          checks.length === 0 ? (
            <p className="muted">{none}</p>
          ) : (
            <ul className="deleted">
              {checks.map((row) => (
                <li key={row.id}>
                  <span className="deleted-name">
                    <b className="clip">{checkName(row)}</b>
                    <span className="muted">
                      <Ago at={row.deletedAt} /> · {actionWords.deletedList.gone("")}
                      <Until at={row.expiresAt} />
                    </span>
                  </span>
                  {mayEdit && <Button onClick={() => void takeBack(row)}>{back}</Button>}
                </li>
              ))}
            </ul>
          )
        }
      </Queried>
    </Drawer>
  );
}

// Keyboard shortcuts of the list.

type Given = {
  project: string;
  picking: Picking;
  rows: ReadonlyMap<string, CheckRow>;
  mayEdit: boolean;
  onSearch: () => void;
  onNew: () => void;
};

export function useListKeys({ project, picking, rows, mayEdit, onSearch, onNew }: Given): void {
  const [, navigate] = useLocation();
  const { group } = keyWords;
  const current = picking.cursor === null ? undefined : rows.get(picking.cursor);
  const open = (hash = "") => {
    if (current !== undefined) navigate(`${pageHref("check", { check: current.id })}${hash}`);
  };
  /** The selected rows, or the one under the cursor. */
  const chosenRows = () => {
    const many = [...picking.picked].flatMap((id) => rows.get(id) ?? []);
    return many.length > 0 ? many : current === undefined ? [] : [current];
  };
  const silence = () => {
    const checks = chosenRows().map(({ id }) => id);
    if (checks.length > 0) askToSilence({ project, checks, onDone: picking.clear });
  };
  const pause = () => {
    const chosen = chosenRows();
    if (chosen.length === 0) return;
    const isAllPaused = chosen.every(({ state }) => state === "paused");
    void (isAllPaused ? resumeChecks(project, chosen) : pauseChecks(project, chosen));
  };
  const onEnter = (event: KeyboardEvent) => {
    // A focused link or button handles the key itself.
    const isOwn = event.target instanceof HTMLElement && event.target.closest("a, button") !== null;
    if (isOwn && event.target instanceof HTMLElement) event.target.click();
    else open();
  };
  useShortcuts([
    { keys: "/", label: keyWords.search, group, run: onSearch },
    { keys: "j", label: keyWords.down, group, run: () => picking.move(1) },
    { keys: "k", label: keyWords.up, group, run: () => picking.move(-1) },
    { keys: "Enter", label: keyWords.open, group, run: onEnter },
    ...(mayEdit
      ? [
          {
            keys: "x",
            label: keyWords.pick,
            group,
            run: () => (current === undefined ? undefined : picking.pick(current.id, false)),
          },
          { keys: "p", label: keyWords.pause, group, run: pause },
          {
            keys: "a",
            label: actionWords.acknowledge,
            group,
            run: () => {
              const chosen = chosenRows();
              if (chosen.length > 0) void acknowledgeChecks(project, chosen);
            },
          },
          { keys: "s", label: silencedWords.key, group, run: silence },
          { keys: "e", label: keyWords.edit, group, run: () => open("?edit=1") },
          { keys: "n", label: keyWords.new, group, run: onNew },
        ]
      : []),
    { keys: "Escape", label: keyWords.clear, group, run: () => (picking.clear(), picking.setCursor(null)) },
  ]);
}
