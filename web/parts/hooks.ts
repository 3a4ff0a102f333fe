// A value once it has stopped changing, so that not every keystroke sends a request.
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";
import { useSearchParams } from "wouter";

export function useDebounced<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  const text = JSON.stringify(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(JSON.parse(text) as T), ms);
    return () => clearTimeout(timer);
  }, [text, ms]);
  return settled;
}

// Which dialog is open, kept in the URL: it is open again after re-authentication.

/** The open dialog of a page, and a function to open another or none. */
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

// The current width of an element.

export function useWidth<E extends HTMLElement>(first: number): [number, RefObject<E | null>] {
  const ref = useRef<E>(null);
  const [width, setWidth] = useState(first);
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    // Before its layout an element has no width, and nothing can be drawn.
    const measure = () => setWidth((before) => element.clientWidth || before);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [width, ref];
}
