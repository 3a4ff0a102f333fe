// The shapes of states, as in the dashboard: never a color alone.
import { type Html, trusted } from "../../lib/http/html.ts";
import type { PublicState } from "../../core/status-page.ts";

const DOWN =
  '<path d="M8 1 15 8l-7 7-7-7Z" fill="var(--down-mark)"/><path d="M8 4.8v3.8M8 10.9v.2" stroke="var(--surface)" stroke-width="1.7" stroke-linecap="round"/>';
const CALENDAR =
  '<rect x="2.4" y="3.2" width="11.2" height="10.4" rx="2" fill="none" stroke="var(--run-mark)" stroke-width="1.6"/><path d="M2.6 6.6h10.8M5.4 1.8v2.6M10.6 1.8v2.6" stroke="var(--run-mark)" stroke-width="1.6" stroke-linecap="round"/>';
const LATE =
  '<circle cx="8" cy="8" r="5.7" fill="none" stroke="var(--late-mark)" stroke-width="1.8"/><path d="M8 2.3a5.7 5.7 0 0 1 0 11.4Z" fill="var(--late-mark)"/>';

const SHAPES: Readonly<Record<PublicState, string>> = {
  operational:
    '<circle cx="8" cy="8" r="6.5" fill="var(--up-mark)"/><path d="m5.2 8.2 2 2 3.7-4.2" fill="none" stroke="var(--surface)" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round"/>',
  delayed: LATE,
  down: DOWN,
  maintenance: CALENDAR,
  unknown:
    '<circle cx="8" cy="8" r="5.7" fill="none" stroke="var(--idle-mark)" stroke-width="1.8" stroke-dasharray="3 2.4"/>',
};

export function stateShape(state: PublicState, size = 16): Html {
  return trusted(
    `<svg class="shape" viewBox="0 0 16 16" width="${size}" height="${size}" aria-hidden="true">${SHAPES[state]}</svg>`,
  );
}
