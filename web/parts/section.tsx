// Layout of settings pages: a section with its heading, a list with actions, and a notice.
import "./section.css";
import { type ReactNode, useId } from "react";
import { type DocsTarget, LearnMore } from "../ui/docs-link.tsx";
import { StateShape } from "../ui/marks.tsx";

type SectionProps = {
  title: string;
  about?: ReactNode;
  /** The page that explains the section. */
  docs?: DocsTarget;
  children: ReactNode;
};

export function Section(props: SectionProps) {
  const id = useId();
  return (
    <section className="section" aria-labelledby={id}>
      <div className="section-head">
        <h2 id={id}>{props.title}</h2>
        {props.about !== undefined && (
          <p>
            {props.about} {props.docs !== undefined && <LearnMore to={props.docs} />}
          </p>
        )}
      </div>
      <div className="section-body">{props.children}</div>
    </section>
  );
}

/** A list of items; `none` is shown when it is empty. */
export function Rows({ label, none, children }: { label: string; none?: string; children: ReactNode[] }) {
  if (children.length === 0) return none === undefined ? null : <p className="rows-none">{none}</p>;
  return (
    <ul className="rows" aria-label={label}>
      {children}
    </ul>
  );
}

/** One item of a list. `mark` is shown after the name: "you", "this browser". */
export function Row(props: { name: ReactNode; mark?: string | null; about?: ReactNode; acts?: ReactNode }) {
  const { name, mark = null, about, acts } = props;
  return (
    <li>
      <div>
        <div className="rows-name">
          <span className="clip" title={typeof name === "string" ? name : undefined}>
            {name}
          </span>
          {mark !== null && <span className="tag">{mark}</span>}
        </div>
        {about !== undefined && <div className="rows-about">{about}</div>}
      </div>
      {acts !== undefined && acts !== null && <div className="rows-acts">{acts}</div>}
    </li>
  );
}

type NoticeKind = "asking" | "good" | "bad" | "plain";
const SHAPES = { good: "up", bad: "down" } as const;

export function Notice(props: { kind: NoticeKind; title: ReactNode; children?: ReactNode }) {
  const { kind, title, children } = props;
  return (
    <div className={`notice is-${kind}`} role={kind === "good" || kind === "bad" ? "status" : undefined}>
      <div className="notice-head">
        {(kind === "good" || kind === "bad") && <StateShape state={SHAPES[kind]} label={null} />}
        <span>{title}</span>
      </div>
      {children}
    </div>
  );
}
