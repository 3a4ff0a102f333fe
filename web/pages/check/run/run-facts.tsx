// What is known of a run besides its output.
import type { ReactNode } from "react";
import type { UsualDuration } from "../../../../src/contract/web/check-page.ts";
import type { Run } from "../../../../src/contract/web/history.ts";
import { readerZone } from "../../../boot/boot.ts";
import { againstUsual } from "../../../words/check/page.ts";
import { runWords as words } from "../../../words/check/run.ts";
import { formatDuration, formatExact, knownZone } from "../../../words/time.ts";

type Props = { run: Run; usual: UsualDuration | null; checkZone: string };

/** `checkZone`: by whose clock the check is expected. */
export function RunFacts({ run, usual, checkZone }: Props) {
  const { facts } = words;
  const lines: [string, ReactNode][] = [];
  if (run.startAt !== null) lines.push([facts.started, <Moment key="s" at={run.startAt} />]);
  lines.push([run.startAt === null ? facts.at : facts.ended, <Moment key="e" at={run.at} />]);
  const others = [...new Set(["UTC", knownZone(checkZone)])].filter((zone) => zone !== readerZone);
  if (others.length > 0) {
    lines.push([facts.elsewhere, others.map((zone) => <Moment key={zone} at={run.at} zone={zone} />)]);
  }
  if (run.durationMs !== null) lines.push([facts.took, tookText(run.durationMs, usual)]);
  if (run.exitStatus !== null) lines.push([facts.exit, String(run.exitStatus)]);
  lines.push([facts.by, run.scheme === "email" ? words.mail : `${run.method} ${run.scheme}`]);
  if (run.remoteAddr !== null) lines.push([facts.from, run.remoteAddr]);
  if (run.ua !== "") lines.push([facts.agent, run.ua]);
  if (run.rid !== null) lines.push([facts.rid, <code key="r">{run.rid}</code>]);
  return (
    <dl className="run-facts">
      {lines.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Moment({ at, zone = readerZone }: { at: number; zone?: string }) {
  return <time dateTime={new Date(at).toISOString()}>{formatExact(at, zone)}</time>;
}

function tookText(durationMs: number, usual: UsualDuration | null): ReactNode {
  const took = formatDuration(durationMs);
  if (usual === null) return took;
  const against = againstUsual(durationMs, usual);
  const said = against === "usual" ? words.usual : words.against(against);
  const isLong = durationMs > usual.highMs;
  return (
    <>
      {took} <span className={isLong ? "run-long" : "muted"}>· {said}</span>
    </>
  );
}
