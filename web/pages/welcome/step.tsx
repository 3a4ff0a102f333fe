// One step of the first run: its number or how it stands, its title, and what is to be done.
import type { ReactNode } from "react";
import { StateShape } from "../../ui/marks/state-shape.tsx";
import { welcomeWords as words } from "../../words/welcome.ts";

export type StepState = "done" | "wrong" | "open";

export function Step(props: { n: number; state: StepState; title: string; children: ReactNode }) {
  const { n, state, title, children } = props;
  return (
    <li className={`step is-${state}`}>
      <span className="step-mark">
        {state === "open" ? (
          <span aria-hidden="true">{n}</span>
        ) : (
          <StateShape state={state === "done" ? "up" : "down"} size={24} label={null} />
        )}
        <span className="sr">{words.states[state]}</span>
      </span>
      <div className="step-body">
        <h2>{title}</h2>
        {children}
      </div>
    </li>
  );
}
