// Which window of a page is open, kept in its address: whoever is sent away to prove who they are comes back to the
// same window.
import { useSearchParams } from "wouter";

/** The open window of those a page has, and how to open another or none. */
export function useOpen<T extends string>(names: readonly T[]): [T | null, (name: T | null) => void] {
  const [params, setParams] = useSearchParams();
  const open = names.find((name) => name === params.get("open")) ?? null;
  const set = (name: T | null) =>
    setParams(
      (before) => {
        if (name === null) before.delete("open");
        else before.set("open", name);
        return before;
      },
      { replace: true },
    );
  return [open, set];
}
