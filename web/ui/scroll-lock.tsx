// Replaces the package react-remove-scroll, which Radix uses under dialogs and menus: the original writes a style
// element, which our content security policy forbids.
import { Slot } from "radix-ui";
import { type ComponentProps, type ElementType, useEffect } from "react";

type Props = ComponentProps<"div"> & {
  as?: ElementType;
  enabled?: boolean;
  allowPinchZoom?: boolean;
  shards?: unknown;
};

/** The number of layers that lock the page; it scrolls again when the last one is removed. */
let holding = 0;

/** The name that Radix imports; its other properties have no effect here. */
export function RemoveScroll({ as, enabled = true, allowPinchZoom: _zoom, shards: _shards, ...rest }: Props) {
  useEffect(() => {
    if (!enabled) return undefined;
    holding += 1;
    const root = document.documentElement;
    // The space of the scroll bar stays empty, so that nothing moves aside.
    if (holding === 1) root.style.setProperty("--scrollbar", `${window.innerWidth - root.clientWidth}px`);
    root.classList.add("held");
    return () => {
      holding -= 1;
      if (holding === 0) document.documentElement.classList.remove("held");
    };
  }, [enabled]);
  const Tag = as ?? Slot.Root;
  return <Tag {...rest} />;
}
