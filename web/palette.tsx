// The command palette (Ctrl+K): pages, projects and checks. Also the shortcuts that work on every page.
import { Dialog as Layer } from "radix-ui";
import { useDeferredValue, useMemo, useState, useSyncExternalStore } from "react";
import { useLocation } from "wouter";
import type { ProjectHead } from "../src/contract/api/boot.ts";
import { type CheckRow, drawnAt, type DrawnState } from "../src/contract/api/check-row.ts";
import { checkName } from "../src/contract/api/words.ts";
import { DOCS } from "../src/contract/api/docs.ts";
import { boot, siteUrl } from "./boot.ts";
import { useAllRows } from "./live/checks-store.ts";
import { serverNow } from "./live/clock.ts";
import { pageHref, PROJECT_PAGES, useCurrentProject } from "./page-location.ts";
import { switchSingleKeys, useKnownShortcuts, useShortcuts, useSingleKeys } from "./shortcuts.ts";
import { Keys } from "./ui/button.tsx";
import { Dialog, restoreFocus } from "./ui/dialog.tsx";
import { openDocs } from "./ui/docs-link.tsx";
import { Toggle } from "./ui/field.tsx";
import { StateShape } from "./ui/marks.tsx";
import { WindowToasts } from "./ui/toast.tsx";
import { paletteWords, words } from "./words/shared.ts";

const SHOWN_MAX = 12;

/** Letters after "g" that lead to the pages of the project. */
const GO = {
  c: "checks",
  t: "timeline",
  i: "incidents",
  e: "events",
  n: "near-misses",
  f: "forecast",
  l: "silences",
  h: "channels",
  r: "reports",
  p: "status-pages",
  b: "badges",
  s: "settings",
} as const;

export function Palette() {
  const isOpen = useOpened() === "palette";
  useGlobalShortcuts();
  return (
    <Layer.Root open={isOpen} onOpenChange={(open) => (open ? openPalette() : closeWindows())}>
      <Layer.Portal>
        <Layer.Overlay className="veil" />
        <Layer.Content
          className="window is-palette"
          aria-describedby={undefined}
          onCloseAutoFocus={restoreFocus}
        >
          <Layer.Title className="sr">{words.nav.search}</Layer.Title>
          <PaletteBody />
          <WindowToasts />
        </Layer.Content>
      </Layer.Portal>
    </Layer.Root>
  );
}

function PaletteBody() {
  const project = useCurrentProject();
  const [, navigate] = useLocation();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const wanted = useDeferredValue(text);
  const rows = useAllRows(project?.id ?? null);
  const entries = useMemo(() => paletteEntries(project, rows), [project, rows]);
  const found = useMemo(() => rankEntries(entries, wanted, SHOWN_MAX), [entries, wanted]);
  const pick = (entry: PaletteEntry | undefined, inNewTab: boolean) => {
    if (entry === undefined) return;
    closeWindows();
    if (entry.run !== undefined) entry.run();
    else if (inNewTab) window.open(siteUrl(entry.href), "_blank", "noopener");
    else navigate(entry.href);
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt((now) => (now + step + found.length) % Math.max(1, found.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      // Enter may be pressed before the list has been updated.
      const typed = wanted === text ? found : rankEntries(entries, text, SHOWN_MAX);
      pick(typed[at], event.ctrlKey || event.metaKey);
    }
  };
  return (
    <>
      <input
        className="palette-input"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found[at] === undefined ? undefined : `palette-${at}`}
        aria-label={words.nav.search}
        placeholder={paletteWords.placeholder}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <PaletteList found={found} at={at} onMove={setAt} onPick={pick} />
      {found.length === 0 && <p className="palette-none">{paletteWords.none}</p>}
      <p className="palette-foot">{paletteWords.foot}</p>
    </>
  );
}

type ListProps = {
  found: readonly PaletteEntry[];
  at: number;
  onMove: (at: number) => void;
  onPick: (entry: PaletteEntry, inNewTab: boolean) => void;
};

function PaletteList({ found, at, onMove, onPick }: ListProps) {
  return (
    <ul className="palette-list" id="palette-list" role="listbox" aria-label={words.nav.search}>
      {found.map((entry, index) => (
        <li
          key={entry.key}
          id={`palette-${index}`}
          role="option"
          aria-selected={index === at}
          className="palette-entry"
          onPointerMove={() => onMove(index)}
          onClick={(event) => onPick(entry, event.ctrlKey || event.metaKey)}
        >
          {entry.state !== undefined && <StateShape state={entry.state} />}
          <span className="clip">{entry.label}</span>
          <span className="palette-kind">{entry.kind}</span>
        </li>
      ))}
    </ul>
  );
}

function useGlobalShortcuts(): void {
  const project = useCurrentProject();
  const [, navigate] = useLocation();
  const pages = project === null ? [] : Object.entries(GO);
  useShortcuts([
    {
      keys: "$mod+k",
      label: words.nav.search,
      group: paletteWords.everywhere,
      run: openPalette,
      always: true,
    },
    { keys: "Shift+?", label: words.nav.keys, group: paletteWords.everywhere, run: openHelp },
    {
      keys: "g p",
      label: words.nav.projects,
      group: paletteWords.go,
      run: () => navigate(pageHref("projects")),
    },
    ...pages.map(([letter, page]) => ({
      keys: `g ${letter}`,
      label: words.nav[page],
      group: paletteWords.go,
      run: () => navigate(pageHref(page, { project: project?.id ?? "" })),
    })),
  ]);
}

// The entries, and their ranking.

export type PaletteEntry = Ranked & {
  key: string;
  kind: string;
  href: string;
  state?: DrawnState;
  run?: () => void;
};

function fireDrillEntry({ id }: ProjectHead): PaletteEntry {
  const href = pageHref("fire-drill", { project: id });
  return { key: "page fire-drill", label: words.nav.fireDrill, kind: paletteWords.kinds.page, href };
}

/** Pages first, then projects, then checks: an empty palette lists the pages. */
function paletteEntries(project: ProjectHead | null, rows: readonly CheckRow[]): PaletteEntry[] {
  const { kinds } = paletteWords;
  const pages = (project === null ? [] : PROJECT_PAGES).map((page) => ({
    key: `page ${page}`,
    label: words.nav[page],
    kind: kinds.page,
    href: pageHref(page, { project: project?.id ?? "" }),
  }));
  // Not in the navigation.
  const drill = project === null ? [] : [fireDrillEntry(project)];
  const own = (["projects", "profile"] as const).map((page) => ({
    key: `page ${page}`,
    label: page === "projects" ? words.nav.projects : words.nav.account,
    kind: kinds.page,
    href: pageHref(page),
  }));
  const projects = boot.projects.map((one) => ({
    key: `project ${one.id}`,
    label: one.name,
    kind: kinds.project,
    href: pageHref("checks", { project: one.id }),
  }));
  const now = serverNow();
  const checks = rows.map((row) => ({
    key: `check ${row.id}`,
    label: checkName(row),
    also: `${row.slug} ${row.tags.join(" ")} ${row.id}`,
    kind: kinds.check,
    href: pageHref("check", { check: row.id }),
    state: drawnAt(row, now),
  }));
  const help = { key: "help", label: words.nav.keys, kind: kinds.action, href: "", run: openHelp };
  const docs = {
    key: "docs",
    label: words.nav.documentation,
    kind: kinds.page,
    href: DOCS.home,
    run: openDocs,
  };
  return [...pages, ...drill, ...own, ...projects, help, docs, ...checks];
}

// Ranks by the typed text: start of the name, start of a word, anywhere, letters in order.

export type Ranked = {
  label: string;
  /** Searched, but not shown: slug, tags, ID. */
  also?: string;
};

const NOT_FOUND = 9;
const SPREAD_LETTERS_MIN = 3;

/** The best `most` entries; those that match equally well keep their order. */
export function rankEntries<T extends Ranked>(entries: readonly T[], text: string, most: number): T[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return entries.slice(0, most);
  const buckets: T[][] = [];
  for (const entry of entries) {
    const rank = rankOf(entry, wanted);
    if (rank === NOT_FOUND) continue;
    const bucket = (buckets[rank] ??= []);
    if (bucket.length < most) bucket.push(entry);
  }
  return buckets.flat().slice(0, most);
}

function rankOf({ label, also = "" }: Ranked, wanted: string): number {
  const name = label.toLowerCase();
  const at = name.indexOf(wanted);
  if (at === 0) return 0;
  if (at > 0) return /[^\p{L}\p{N}]/u.test(name[at - 1] ?? "") ? 1 : 2;
  if (also.toLowerCase().includes(wanted)) return 3;
  return wanted.length >= SPREAD_LETTERS_MIN && hasInOrder(name, wanted) ? 4 : NOT_FOUND;
}

function hasInOrder(name: string, letters: string): boolean {
  let from = 0;
  for (const letter of letters) {
    const at = name.indexOf(letter, from);
    if (at === -1) return false;
    from = at + 1;
  }
  return true;
}

// Whether the palette or the list of shortcuts is open.

type Opened = "palette" | "help" | null;

let opened: Opened = null;
const listeners = new Set<() => void>();

function show(next: Opened): void {
  opened = next;
  for (const listener of listeners) listener();
}

export const openPalette = (): void => show("palette");
export const openHelp = (): void => show("help");
const closeWindows = (): void => show(null);

function useOpened(): Opened {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => opened,
  );
}

// The list of shortcuts, opened with "?".

export function KeyboardHelp() {
  const known = useKnownShortcuts();
  const groups = [...new Set(known.map(({ group }) => group))];
  return (
    <Dialog
      isOpen={useOpened() === "help"}
      onClose={closeWindows}
      title={words.nav.keys}
      docs="shortcuts"
      className="is-wide"
    >
      <Toggle label={paletteWords.singleKeys} checked={useSingleKeys()} onCheckedChange={switchSingleKeys} />
      <div className="help">
        {groups.map((group) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {known
                .filter((one) => one.group === group && one.isUnlisted !== true)
                .map((one) => (
                  <div key={one.keys}>
                    <dt>{one.label}</dt>
                    <dd>
                      <Keys keys={one.keys.replace("Shift+", "")} />
                    </dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
