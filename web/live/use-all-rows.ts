// All rows of a project for whoever searches through them, on whatever page.
import { useMemo, useSyncExternalStore } from "react";
import type { CheckRow } from "../../src/contract/web/check-row.ts";
import { checksStore } from "./checks-store.ts";

const nobody = () => () => undefined;

/** All rows of a project, as far as they are here yet; null: of none. */
export function useAllRows(project: string | null): readonly CheckRow[] {
  const store = project === null ? null : checksStore(project);
  const known = useSyncExternalStore(store?.listen ?? nobody, () => store?.snapshot() ?? null);
  return useMemo(() => [...(known?.rows.values() ?? [])], [store, known?.version]);
}
