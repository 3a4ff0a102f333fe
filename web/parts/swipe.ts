// A row that is swiped aside with a finger does one thing. Only for touch: with the pointer and the keyboard the row's
// menu does the same. Scrolling stays the browser's; nothing is drawn anew while the finger moves.
import "./swipe.css";

/** Less is a finger that trembles, or one that begins to scroll. */
const BEGINS_PX = 12;
/** From here on letting go means it. */
const MEANT_PX = 96;
/** Further than this the row does not follow. */
const FARTHEST_PX = 160;

type Place = HTMLElement;
type Touched = React.PointerEvent<Place>;

/** Where a finger goes: not yet known, aside to do something, or to the other side, where there is nothing. */
type Way = "open" | "swipe" | "other";

/** There is one finger that counts, so there is one gesture. */
let gesture: { pointerId: number; place: Place; x: number; y: number; way: Way } | null = null;

/** Handlers for the row: what letting go will do, as it is shown beside the row, and the deed itself. */
export function swiped(says: string, act: () => void) {
  return {
    "data-swipe-says": says,
    onPointerDown: begin,
    onPointerMove: follow,
    onPointerUp: ({ pointerId }: Touched) => {
      if (gesture?.pointerId === pointerId && putBack() === "meant") act();
    },
    // The browser has taken the finger, to scroll.
    onPointerCancel: ({ pointerId }: Touched) => {
      if (gesture?.pointerId === pointerId) putBack();
    },
  };
}

/** A second finger beside the first is not asked; a first one ends what another has left behind. */
function begin({ currentTarget: place, clientX, clientY, pointerId, pointerType, isPrimary }: Touched): void {
  if (pointerType !== "touch" || !isPrimary) return;
  putBack();
  gesture = { pointerId, place, x: clientX, y: clientY, way: "open" };
  place.addEventListener("touchmove", keepFromFling, { passive: false });
}

/** Ends the gesture, its row where it was before, and says how far it had come. */
function putBack(): string | undefined {
  const place = gesture?.place;
  gesture = null;
  if (place === undefined) return undefined;
  place.removeEventListener("touchmove", keepFromFling);
  const { swipe } = place.dataset;
  delete place.dataset["swipe"];
  place.style.removeProperty("--swipe");
  return swipe;
}

/**
 * A finger that was dragged to the side begins a fling for the browser, though it may not scroll there, and a tap soon
 * after only ends that fling: no click would come of it. So it is told that the movement is ours.
 */
function keepFromFling(event: TouchEvent): void {
  if (gesture !== null && gesture.way !== "open" && event.cancelable) event.preventDefault();
}

function follow({ currentTarget: place, clientX, clientY, pointerId }: Touched): void {
  if (gesture?.pointerId !== pointerId) return;
  const aside = gesture.x - clientX;
  if (gesture.way === "open") {
    const down = Math.abs(clientY - gesture.y);
    if (Math.max(Math.abs(aside), down) < BEGINS_PX) return;
    if (down > Math.abs(aside)) {
      putBack();
      return;
    }
    gesture.way = aside > 0 ? "swipe" : "other";
    if (gesture.way === "swipe") place.setPointerCapture(pointerId);
  }
  if (gesture.way === "other") return;
  place.dataset["swipe"] = aside >= MEANT_PX ? "meant" : "begun";
  place.style.setProperty("--swipe", `${-Math.min(FARTHEST_PX, Math.max(0, aside))}px`);
}
