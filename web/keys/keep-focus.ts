// Where the focus goes when what had it is gone: a window that closed, a row that was deleted, a button that was done
// with. Browsers drop it on the page as a whole, and whoever uses the keyboard would begin again at the top.

/** More than the longest form has fields: whoever passed through all of them still comes back. */
const REMEMBERED_MAX = 200;
/** Whoever takes the focus by intent, as a window that opens, has done so by then. */
const SETTLED_MS = 50;
/** What takes letters; they mean nothing to a box that is only ticked. */
export const TYPED_INTO = "input:not([type=checkbox], [type=radio]), textarea, select";

/** What had the focus, newest first, and on which page that was. */
type Step = { place: HTMLElement; path: string };
let trail: readonly Step[] = [];
/** A tap must not open the keyboard of a phone, nor move the page. */
let isByPointer = false;
/** Whoever presses the pointer somewhere else has taken the focus away themselves. */
let hasLeft = true;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Begins to remember; called once. */
export function keepFocus(): void {
  document.addEventListener("focusin", ({ target }) => {
    if (!(target instanceof HTMLElement)) return;
    hasLeft = false;
    const others = trail.filter(({ place }) => place !== target);
    trail = [{ place: target, path: location.pathname }, ...others].slice(0, REMEMBERED_MAX);
  });
  document.addEventListener("keydown", () => (isByPointer = false), true);
  const point = () => {
    isByPointer = true;
    hasLeft = true;
  };
  document.addEventListener("pointerdown", point, true);
  const watched = { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] };
  new MutationObserver(look).observe(document.body, watched);
}

function look(): void {
  const [last] = trail;
  if (hasLeft || last === undefined || canHold(last.place)) return;
  clearTimeout(timer);
  timer = setTimeout(focusBack, SETTLED_MS);
}

/** Gives the focus to what had it before and is still on this page, else to the page itself; takes it from nobody. */
export function focusBack(): void {
  if (document.activeElement !== null && document.activeElement !== document.body) return;
  const before = trail.find(({ place, path }) => path === location.pathname && isWayBack(place));
  if (before === undefined) document.getElementById("content")?.focus({ preventScroll: true });
  else before.place.focus({ preventScroll: isByPointer });
}

function isWayBack(place: HTMLElement): boolean {
  return canHold(place) && place.checkVisibility() && !(isByPointer && place.matches(TYPED_INTO));
}

function canHold(place: HTMLElement): boolean {
  return place.isConnected && !place.matches(":disabled");
}
