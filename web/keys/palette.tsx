// The palette (Ctrl+K): every page, every project and every check of this project, by a few letters; Enter opens,
// Ctrl+Enter opens a new tab. Also the home of the shortcuts that work on every page.
import { Dialog as Layer } from "radix-ui";
import { useDeferredValue, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { siteUrl } from "../boot/boot.ts";
import { useAllRows } from "../live/use-all-rows.ts";
import { useCurrentProject } from "../shell/current-project.ts";
import { pageHref } from "../shell/page-address.ts";
import { giveBack } from "../ui/dialog.tsx";
import { StateShape } from "../ui/marks/state-shape.tsx";
import { WindowToasts } from "../ui/toast.tsx";
import { paletteWords, words } from "../words/shared.ts";
import { closeWindows, openHelp, openPalette, useOpened } from "./open-windows.ts";
import { type PaletteEntry, paletteEntries } from "./palette-entries.ts";
import { rankEntries } from "./rank.ts";
import { useShortcuts } from "./shortcuts.ts";

const SHOWN_MAX = 12;

/** Letters after "g" that lead to the pages of the project. */
const GO = { c: "checks", e: "events", h: "channels", b: "badges", s: "settings" } as const;

export function Palette() {
  const isOpen = useOpened() === "palette";
  useGlobalShortcuts();
  return (
    <Layer.Root open={isOpen} onOpenChange={(open) => (open ? openPalette() : closeWindows())}>
      <Layer.Portal>
        <Layer.Overlay className="veil" />
        <Layer.Content className="window is-palette" aria-describedby={undefined} onCloseAutoFocus={giveBack}>
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
      // Whoever types fast presses Enter before the list has followed.
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
      says: words.nav.search,
      group: paletteWords.everywhere,
      run: openPalette,
      always: true,
    },
    { keys: "Shift+?", says: words.nav.keys, group: paletteWords.everywhere, run: openHelp },
    {
      keys: "g p",
      says: words.nav.projects,
      group: paletteWords.go,
      run: () => navigate(pageHref("projects")),
    },
    ...pages.map(([letter, page]) => ({
      keys: `g ${letter}`,
      says: words.nav[page],
      group: paletteWords.go,
      run: () => navigate(pageHref(page, { project: project?.id ?? "" })),
    })),
  ]);
}
