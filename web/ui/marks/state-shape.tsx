// A state as it is shown everywhere: shape, word, colour. Readable in grey: round tick up, half disc late, diamond
// down, arc running, bars paused, dotted ring new.
import type { DrawnState } from "../../../src/contract/web/check-row.ts";
import { STATE_WORDS } from "../../../src/contract/web/list-words.ts";
import type { ReactNode } from "react";

const SHAPES: Readonly<Record<DrawnState, ReactNode>> = {
  up: (
    <>
      <circle cx="8" cy="8" r="6.5" fill="var(--up-mark)" />
      <path
        d="m5.2 8.2 2 2 3.7-4.2"
        fill="none"
        stroke="var(--surface)"
        strokeWidth="1.7"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </>
  ),
  late: (
    <>
      <circle cx="8" cy="8" r="5.7" fill="none" stroke="var(--late-mark)" strokeWidth="1.8" />
      <path d="M8 2.3a5.7 5.7 0 0 1 0 11.4Z" fill="var(--late-mark)" />
    </>
  ),
  down: (
    <>
      <path d="M8 1 15 8l-7 7-7-7Z" fill="var(--down-mark)" />
      <path d="M8 4.8v3.8M8 10.9v.2" stroke="var(--surface)" strokeWidth="1.7" strokeLinecap="round" />
    </>
  ),
  running: (
    <>
      <circle cx="8" cy="8" r="5.7" fill="none" stroke="var(--idle-mark)" strokeWidth="1.8" />
      <path
        className="turning"
        d="M8 2.3a5.7 5.7 0 0 1 5.7 5.7"
        fill="none"
        stroke="var(--run-mark)"
        strokeWidth="2.2"
        strokeLinecap="round"
      />
    </>
  ),
  paused: (
    <>
      <rect x="3.2" y="2.5" width="3.4" height="11" rx="1" fill="var(--idle-mark)" />
      <rect x="9.4" y="2.5" width="3.4" height="11" rx="1" fill="var(--idle-mark)" />
    </>
  ),
  new: (
    <circle
      cx="8"
      cy="8"
      r="5.7"
      fill="none"
      stroke="var(--idle-mark)"
      strokeWidth="1.8"
      strokeDasharray="2.2 2.4"
    />
  ),
};

/** The shape alone; give `label={null}` where the word stands beside it. */
export function StateShape(props: { state: DrawnState; size?: number; label?: string | null }) {
  const { state, size = 16, label = STATE_WORDS[state] } = props;
  const named = label === null ? { "aria-hidden": true } : { role: "img", "aria-label": label };
  return (
    <svg className="shape" viewBox="0 0 16 16" width={size} height={size} {...named}>
      {SHAPES[state]}
    </svg>
  );
}

/** Shape and word in the state's colour. */
export function StateMark(props: { state: DrawnState; text?: ReactNode; size?: number }) {
  const { state, text, size = 16 } = props;
  return (
    <span className={`state is-${state}`}>
      <StateShape state={state} size={size} label={null} />
      <span className="state-word">{text ?? STATE_WORDS[state]}</span>
    </span>
  );
}
