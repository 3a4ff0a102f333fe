// How often the server is asked for a first signal: every second while somebody can be expected to wait for it, and now
// and then in a window that was left open. Pure.

const SOON_MS = 1_000;
const LATER_MS = 15_000;
/** Ten minutes. */
const SOON_COUNT_MAX = 600;

/** After how long to ask again, having asked so often. */
export function askAgainMs(askedCount: number): number {
  return askedCount < SOON_COUNT_MAX ? SOON_MS : LATER_MS;
}
