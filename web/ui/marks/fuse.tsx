// The fuse, our mark: one thin bar that shows how much of the time until an alert is used up. Solid up to the
// expected time, hatched through grace, red when it is burnt, a dashed line where nothing is awaited.
import { type CheckRow, drawnAt } from "../../../src/contract/web/check-row.ts";
import { words } from "../../words/shared.ts";
import { fuseShares } from "./fuse-arithmetic.ts";

type Props = { row: Pick<CheckRow, "state" | "fuse" | "runningSince">; now: number; size?: "row" | "page" };

/** Draws the fuse of a row as it is now; whoever calls it decides how often. */
export function FuseBar({ row, now, size = "row" }: Props) {
  const state = drawnAt(row, now);
  const sized = size === "page" ? " is-page" : "";
  if (state === "down") {
    return <span className={`fuse is-down${sized}`} role="img" aria-label={words.fuse.burnt} />;
  }
  if (row.fuse === null || state === "paused" || state === "new") {
    return <span className={`fuse is-off${sized}`} role="img" aria-label={words.fuse.none} />;
  }
  const { used, grace } = fuseShares(row.fuse, now);
  const percent = Math.round(used * 100);
  const label = state === "late" ? words.fuse.late(percent) : words.fuse.used(percent);
  const style = { "--used": used.toFixed(4), "--grace": grace.toFixed(4) } as React.CSSProperties;
  return (
    <span className={`fuse is-${state}${sized}`} style={style} role="img" aria-label={label}>
      <i />
    </span>
  );
}
