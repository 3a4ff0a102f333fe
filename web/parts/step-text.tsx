// A step of a guide: text with links, **bold** and `code`, and no other markup.
import { Fragment, type ReactNode } from "react";

const MARKUP = /\[([^[\]]{1,100})\]\((https?:\/\/[^\s()]{1,300})\)|\*\*([^*]{1,100})\*\*|`([^`]{1,100})`/g;

export type StepPart =
  | { kind: "text" | "bold" | "code"; text: string }
  | { kind: "link"; text: string; url: string };

/** The parts of a step in their order. */
export function stepParts(step: string): StepPart[] {
  const parts: StepPart[] = [];
  let from = 0;
  for (const match of step.matchAll(MARKUP)) {
    const [all, label, url, bold, code] = match;
    if (match.index > from) parts.push({ kind: "text", text: step.slice(from, match.index) });
    if (label !== undefined && url !== undefined) parts.push({ kind: "link", text: label, url });
    else if (bold !== undefined) parts.push({ kind: "bold", text: bold });
    else parts.push({ kind: "code", text: code ?? "" });
    from = match.index + all.length;
  }
  if (from < step.length) parts.push({ kind: "text", text: step.slice(from) });
  return parts;
}

export function StepText({ text }: { text: string }) {
  return stepParts(text).map((part, index) => <Fragment key={index}>{rendered(part)}</Fragment>);
}

function rendered(part: StepPart): ReactNode {
  switch (part.kind) {
    case "text":
      return part.text;
    case "bold":
      return <b>{part.text}</b>;
    case "code":
      return <code>{part.text}</code>;
    case "link":
      return (
        <a className="link" href={part.url} target="_blank" rel="noreferrer">
          {part.text}
        </a>
      );
  }
}
