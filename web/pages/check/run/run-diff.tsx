// The output against that of the last success: new lines, lines that are gone, and long stretches of the same folded.
import { useState } from "react";
import type { Run } from "../../../../src/contract/web/history.ts";
import { When } from "../../../ui/when.tsx";
import { runWords } from "../../../words/check/run.ts";
import { foldSame } from "./fold-same.ts";

const { diff: words } = runWords;
const MARKS = { " ": " ", "+": "+", "-": "−" } as const;
const CLASSES = { " ": "is-same", "+": "is-new", "-": "is-gone" } as const;

export function RunDiff({ diff }: { diff: NonNullable<Run["diff"]> }) {
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const added = diff.lines.filter(({ mark }) => mark === "+").length;
  const gone = diff.lines.filter(({ mark }) => mark === "-").length;
  if (added + gone === 0) return <p className="muted">{words.same}</p>;
  return (
    <>
      <p className="hint">
        {words.against} <When at={diff.againstAt} />. <b>{words.added(added)}</b>, <b>{words.gone(gone)}</b>.
        {diff.isCut && ` ${words.cut}`}
      </p>
      <div className="run-diff" tabIndex={0} role="region" aria-label={runWords.tabs.diff}>
        {foldSame(diff.lines).map((part, index) =>
          part.kind === "folded" && !opened.has(index) ? (
            <button
              key={index}
              type="button"
              className="run-folded"
              onClick={() => setOpened(new Set([...opened, index]))}
            >
              {words.hidden(part.lines.length)}
            </button>
          ) : (
            part.lines.map(({ mark, text }, line) => (
              <div key={`${index} ${line}`} className={`run-line ${CLASSES[mark]}`}>
                <span className="run-mark">{MARKS[mark]}</span>
                <span dir="auto">{text === "" ? "\u00a0" : text}</span>
              </div>
            ))
          ),
        )}
      </div>
    </>
  );
}
