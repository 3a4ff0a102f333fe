// One row of the list. It is a link as a whole; its box and its menu lie above that. Drawn again every second while it
// is on screen, because its fuse burns.
import { checkName, formatCount } from "../../../../src/contract/web/list-words.ts";
import { memo } from "react";
import { Link } from "wouter";
import { type CheckRow, type RowDetail, drawnAt } from "../../../../src/contract/web/check-row.ts";
import { readerZone } from "../../../boot/boot.ts";
import { useNow } from "../../../live/clock.ts";
import { swiped } from "../../../parts/swipe.ts";
import { currentProject } from "../../../shell/current-project.ts";
import { pageHref } from "../../../shell/page-address.ts";
import { ChannelMark } from "../../../ui/marks/channel-mark.tsx";
import { BeatStrip, Spark } from "../../../ui/marks/beats.tsx";
import { FuseBar } from "../../../ui/marks/fuse.tsx";
import { StateMark } from "../../../ui/marks/state-shape.tsx";
import { Tags } from "../../../ui/tag.tsx";
import { actionWords } from "../../../words/check-actions.ts";
import { checksWords } from "../../../words/checks.ts";
import { formatBrief, formatDuration, formatExact } from "../../../words/time.ts";
import { pauseChecks, resumeChecks } from "../actions.ts";
import { RowMenu } from "./row-menu.tsx";
import { type Said, saidOfLast, saidOfNext } from "./row-words.ts";
import { tagsBeside } from "./tag-room.ts";

/** What the word that nobody is told needs of the room for tags. */
const UNTOLD_PX = 104;
/** In a narrower column the name comes first, and the menu says who is told. */
const TOLD_FROM_PX = 300;
/** What the marks of channels need, each and around them. */
const TOLD_MARKS_MAX = 4;
const TOLD_MARK_PX = 18;
const TOLD_RIM_PX = 30;

type Props = {
  row: CheckRow;
  detail: RowDetail | undefined;
  index: number;
  top: number;
  isPicked: boolean;
  isCursor: boolean;
  mayEdit: boolean;
  /** Some check of the project notifies a channel: one that notifies none was likely forgotten. */
  isAnyTold: boolean;
  /** It has come into sight while somebody scrolls: what nobody can read then, or press, is left out. */
  isPassing: boolean;
  /** The width of the column that name and tags share. */
  roomPx: number;
  /** `isRange`: everything from the row picked before up to this one. */
  onPick: (id: string, isRange: boolean) => void;
};

export const Row = memo(function Row(props: Props) {
  const { row, detail, index, top, isPicked, isCursor, isPassing, onPick } = props;
  const mayEdit = props.mayEdit && !isPassing;
  const now = useNow();
  const state = drawnAt(row, now);
  const name = checkName(row);
  const marks = `${isPicked ? " is-picked" : ""}${isCursor ? " is-cursor" : ""}`;
  return (
    <div
      className={`row is-${state}${marks}`}
      role="row"
      aria-rowindex={index}
      data-id={row.id}
      {...(mayEdit && swipeOf(row))}
      onClick={openAsLink}
      onAuxClick={openAsLink}
      style={{ transform: `translateY(${top}px)` }}
    >
      <span className="row-state" role="cell">
        {mayEdit && (
          <input
            type="checkbox"
            className="row-pick"
            aria-label={checksWords.select(name)}
            checked={isPicked}
            onChange={(event) => onPick(row.id, (event.nativeEvent as MouseEvent).shiftKey)}
          />
        )}
        <StateMark state={state} />
      </span>
      <NameCell {...props} mayEdit={mayEdit} />
      <span className="row-expected clip" role="cell" title={row.expected}>
        {row.expected}
      </span>
      <span className="row-beats" role="cell">
        {!isPassing && <BeatStrip beats={detail?.beats ?? null} />}
      </span>
      <span className="row-spark figures" role="cell">
        {!isPassing && <Durations detail={detail} />}
      </span>
      <span className="row-when figures" role="cell">
        <Moment said={saidOfLast(row, { now, zone: readerZone })} className="row-last" />
        <Moment said={saidOfNext(row, { now, zone: readerZone })} className="row-next" />
        <FuseBar row={row} now={now} />
      </span>
    </div>
  );
});

/** The name, as many tags as there is room for, who is told, and what can be done. */
function NameCell({ row, detail, mayEdit, isAnyTold, isPassing, roomPx }: Props) {
  const name = checkName(row);
  const isUntold = row.channels === 0 && (row.state === "down" || (isAnyTold && row.state !== "paused"));
  const isMarked = roomPx >= TOLD_FROM_PX && row.channels > 0;
  const toldPx = isMarked ? TOLD_RIM_PX + Math.min(row.channels, TOLD_MARKS_MAX) * TOLD_MARK_PX : 0;
  return (
    <span className="row-name" role="cell">
      <Link className="row-link clip" href={pageHref("check", { check: row.id })} title={name}>
        {name}
      </Link>
      <NamedTags row={row} roomPx={roomPx - (isUntold ? UNTOLD_PX : toldPx)} />
      {isUntold && <Untold />}
      {isMarked && !isPassing && detail !== undefined && (
        <Told told={detail.told} rest={row.channels - detail.told.length} />
      )}
      {mayEdit && (
        <span className="row-acts">
          <RowMenu row={row} />
        </span>
      )}
    </span>
  );
}

/** A finger pauses and resumes; the notice has the way back, and the menu does the same. */
function swipeOf(row: CheckRow) {
  const isPaused = row.state === "paused";
  const act = isPaused ? resumeChecks : pauseChecks;
  const project = () => currentProject()?.id ?? "";
  return swiped(isPaused ? actionWords.resume : actionWords.pause, () => void act(project(), [row]));
}

function NamedTags({ row, roomPx }: Pick<Props, "row" | "roomPx">) {
  return <Tags names={row.tags} most={tagsBeside({ name: checkName(row), tags: row.tags, roomPx })} />;
}

function Untold() {
  return (
    <span className="tag row-untold" title={checksWords.untoldTitle}>
      {checksWords.untold}
    </span>
  );
}

/** By which channels somebody is told. */
function Told({ told, rest }: { told: RowDetail["told"]; rest: number }) {
  const names = told.map(({ name, isOff }) => (isOff ? checksWords.toldOff(name) : name));
  const text = checksWords.tells(names, rest);
  return (
    <span className="row-told" title={text}>
      {told.map(({ kind, isOff }, index) => (
        <ChannelMark key={index} kind={kind} isOff={isOff} />
      ))}
      {rest > 0 && <span aria-hidden="true">+{formatCount(rest)}</span>}
      <span className="sr">{text}</span>
    </span>
  );
}

/** The row is a link as a whole, also where something with a tooltip lies above the link. */
function openAsLink(event: React.MouseEvent<HTMLElement>): void {
  const isOwn =
    event.target instanceof Element && event.target.closest("a, button, input, [role=menu]") !== null;
  const link = event.currentTarget.querySelector<HTMLAnchorElement>("a.row-link");
  if (isOwn || link === null || event.button > 1) return;
  if (event.button === 1 || event.ctrlKey || event.metaKey) window.open(link.href, "_blank", "noopener");
  else link.click();
}

function Durations({ detail }: { detail: RowDetail | undefined }) {
  const p95Ms = detail?.p95Ms ?? null;
  if (detail === undefined || p95Ms === null) return <span className="muted">{checksWords.noDuration}</span>;
  // A job of half an hour is told in minutes.
  const duration = formatBrief(p95Ms);
  return (
    <>
      <Spark durationsMs={detail.durationsMs} />
      <span className="row-p95" title={checksWords.p95(formatDuration(p95Ms))}>
        {duration}
      </span>
    </>
  );
}

function Moment({ said, className }: { said: Said; className: string }) {
  if (said.at === null) return <span className={className}>{said.text}</span>;
  return (
    <time
      className={className}
      dateTime={new Date(said.at).toISOString()}
      title={formatExact(said.at, readerZone)}
    >
      {said.text}
    </time>
  );
}
