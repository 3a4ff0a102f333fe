// The shortcuts of the list: move, pick, open, pause, edit, search, new.
import { useLocation } from "wouter";
import type { CheckRow } from "../../../src/contract/web/check-row.ts";
import { useShortcuts } from "../../keys/shortcuts.ts";
import { pageHref } from "../../shell/page-address.ts";
import { keyWords } from "../../words/checks.ts";
import { pauseChecks, resumeChecks } from "./actions.ts";
import type { Picking } from "./use-picking.ts";

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
  const pause = () => {
    const many = [...picking.picked].flatMap((id) => rows.get(id) ?? []);
    const chosen = many.length > 0 ? many : current === undefined ? [] : [current];
    if (chosen.length === 0) return;
    const isAllPaused = chosen.every(({ state }) => state === "paused");
    void (isAllPaused ? resumeChecks(project, chosen) : pauseChecks(project, chosen));
  };
  const onEnter = (event: KeyboardEvent) => {
    // A link or a button that has the focus does what it does anyway.
    const isOwn = event.target instanceof HTMLElement && event.target.closest("a, button") !== null;
    if (isOwn && event.target instanceof HTMLElement) event.target.click();
    else open();
  };
  useShortcuts([
    { keys: "/", says: keyWords.search, group, run: onSearch },
    { keys: "j", says: keyWords.down, group, run: () => picking.move(1) },
    { keys: "k", says: keyWords.up, group, run: () => picking.move(-1) },
    { keys: "Enter", says: keyWords.open, group, run: onEnter },
    ...(mayEdit
      ? [
          {
            keys: "x",
            says: keyWords.pick,
            group,
            run: () => (current === undefined ? undefined : picking.pick(current.id, false)),
          },
          { keys: "p", says: keyWords.pause, group, run: pause },
          { keys: "e", says: keyWords.edit, group, run: () => open("?edit=1") },
          { keys: "n", says: keyWords.new, group, run: onNew },
        ]
      : []),
    { keys: "Escape", says: keyWords.clear, group, run: () => (picking.clear(), picking.setCursor(null)) },
  ]);
}
