// Text with a search: matches are marked and counted, Enter goes from one to the next. What is copied is as it came.
import { useDeferredValue, useEffect, useRef, useState } from "react";
import { CopyButton } from "../../../ui/copy.tsx";
import { runWords as words } from "../../../words/check/run.ts";
import { splitByMatches } from "./split-matches.ts";

export function SearchedText({ text, raw }: { text: string; raw: string }) {
  const [search, setSearch] = useState("");
  const [current, setCurrent] = useState(0);
  const pieces = splitByMatches(text, useDeferredValue(search));
  const count = Math.floor(pieces.length / 2);
  const shown = useRef<HTMLElement>(null);
  useEffect(() => {
    if (search !== "") shown.current?.scrollIntoView({ block: "nearest" });
  }, [search, current]);
  const type = (value: string) => {
    setSearch(value);
    setCurrent(0);
  };
  return (
    <div className="run-text">
      <div className="run-search">
        <input
          type="search"
          className="input"
          placeholder={words.search}
          aria-label={words.search}
          value={search}
          onChange={(event) => type(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || count === 0) return;
            event.preventDefault();
            setCurrent((current + (event.shiftKey ? count - 1 : 1)) % count);
          }}
        />
        {search !== "" && (
          <span className="muted" role="status">
            {words.found(count)}
          </span>
        )}
        <CopyButton text={raw} />
      </div>
      <pre tabIndex={0} aria-label={words.output} dir="auto">
        {pieces.map((piece, index) => {
          if (index % 2 === 0) return piece;
          const isCurrent = (index - 1) / 2 === current;
          return (
            <mark key={index} ref={isCurrent ? shown : null} className={isCurrent ? "is-current" : undefined}>
              {piece}
            </mark>
          );
        })}
      </pre>
    </div>
  );
}
