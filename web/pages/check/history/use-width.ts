// The width of an element as it is now, for drawings whose text must not be stretched.
import { type RefObject, useLayoutEffect, useRef, useState } from "react";

export function useWidth<E extends HTMLElement>(first: number): [number, RefObject<E | null>] {
  const ref = useRef<E>(null);
  const [width, setWidth] = useState(first);
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    // While it is not laid out yet an element has no width, and nothing can be drawn in none.
    const measure = () => setWidth((before) => element.clientWidth || before);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [width, ref];
}
