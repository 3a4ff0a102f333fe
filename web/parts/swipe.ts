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

/** There is one finger that counts, so there is one gesture. */
let gesture: { place: Place; x: number; y: number; isSwipe: boolean } | null = null;

/** Handlers for the row: what letting go will do, as it is shown beside the row, and the deed itself. */
export function swiped(says: string, act: () => void) {
  const end = (isMeant: boolean) => {
    const place = gesture?.place;
    gesture = null;
    if (place === undefined) return;
    const isDone = isMeant && place.dataset["swipe"] === "meant";
    delete place.dataset["swipe"];
    place.style.removeProperty("--swipe");
    if (isDone) act();
  };
  return {
    "data-swipe-says": says,
    onPointerDown: ({ currentTarget: place, clientX: x, clientY: y, pointerType, isPrimary }: Touched) => {
      gesture = pointerType === "touch" && isPrimary ? { place, x, y, isSwipe: false } : null;
    },
    onPointerMove: follow,
    onPointerUp: () => end(true),
    // The browser has taken the finger, to scroll.
    onPointerCancel: () => end(false),
  };
}

function follow({ currentTarget: place, clientX, clientY, pointerId }: Touched): void {
  if (gesture === null || gesture.place !== place) return;
  const aside = gesture.x - clientX;
  if (!gesture.isSwipe) {
    const down = Math.abs(clientY - gesture.y);
    if (Math.max(Math.abs(aside), down) < BEGINS_PX) return;
    if (aside < BEGINS_PX || down > aside) {
      gesture = null;
      return;
    }
    gesture.isSwipe = true;
    place.setPointerCapture(pointerId);
  }
  place.dataset["swipe"] = aside >= MEANT_PX ? "meant" : "begun";
  place.style.setProperty("--swipe", `${-Math.min(FARTHEST_PX, Math.max(0, aside))}px`);
}
