// Which rows are picked for something to be done with, and which one the keyboard is on.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Item } from "./rows/arrange.ts";

export type Picking = {
  picked: ReadonlySet<string>;
  pick: (id: string, isRange: boolean) => void;
  pickAll: (ids: readonly string[]) => void;
  clear: () => void;
  cursor: string | null;
  move: (step: 1 | -1) => void;
  setCursor: (id: string | null) => void;
};

export function usePicking(items: readonly Item[]): Picking {
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [cursor, setCursor] = useState<string | null>(null);
  const last = useRef<string | null>(null);
  useFocusedRow(setCursor);
  const ids = useMemo(() => items.filter(({ kind }) => kind === "row").map(({ key }) => key), [items]);
  const pick = useCallback(
    (id: string, isRange: boolean) => {
      const from = isRange && last.current !== null ? ids.indexOf(last.current) : -1;
      const to = ids.indexOf(id);
      last.current = id;
      setPicked((before) => {
        const next = new Set(before);
        if (from >= 0 && to >= 0)
          for (const one of ids.slice(Math.min(from, to), Math.max(from, to) + 1)) next.add(one);
        else if (!next.delete(id)) next.add(id);
        return next;
      });
    },
    [ids],
  );
  const move = (step: 1 | -1) => {
    const at = cursor === null ? -1 : ids.indexOf(cursor);
    const next =
      at === -1 ? (step === 1 ? 0 : ids.length - 1) : Math.min(ids.length - 1, Math.max(0, at + step));
    setCursor(ids[next] ?? null);
  };
  return {
    picked,
    pick,
    pickAll: (all) => setPicked(new Set(all)),
    clear: () => setPicked(new Set()),
    cursor,
    move,
    setCursor,
  };
}

/** A row that gets the focus by a key is the one that keys are about. */
function useFocusedRow(onFocus: (id: string) => void): void {
  useEffect(() => {
    const follow = ({ target }: FocusEvent) => {
      const row = target instanceof Element ? target.closest<HTMLElement>(".row[data-id]") : null;
      const id = row?.dataset["id"];
      if (id !== undefined && (target as Element).matches(":focus-visible")) onFocus(id);
    };
    document.addEventListener("focusin", follow);
    return () => document.removeEventListener("focusin", follow);
  }, [onFocus]);
}
