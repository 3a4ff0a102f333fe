// The last 90 days, one column each: signals came, trouble, nothing, or not observed by us. The table twin lists the
// days that were not simply good.
import type { CheckPage, DayMark } from "../../../../src/contract/web/check-page.ts";
import { useMinute } from "../../../live/clock.ts";
import { historyWords as words } from "../../../words/check/page.ts";
import { formatDay } from "../../../words/time.ts";
import { type DayKind, dayText, isToldApart, kindOfDay, stripText } from "./day-marks.ts";

const DAY_MS = 86_400_000;
/** So much of a column is red at the least, to be seen. */
const DOWN_SHARE_MIN = 0.3;

export function Ninety({ days, ninety }: Pick<CheckPage, "days" | "ninety">) {
  const now = useMinute();
  const named = (day: string) => formatDay(Date.parse(day), { now, zone: "UTC" });
  const kinds = days.map(kindOfDay);
  return (
    <section className="check-part" aria-labelledby="check-ninety">
      <h2 id="check-ninety">{words.ninety}</h2>
      <div className="ninety" role="img" aria-label={stripText(kinds, ninety.unseenDays)}>
        {days.map((day, index) => (
          <i
            key={day.day}
            className={`is-${kinds[index]}`}
            title={words.day.title(named(day.day), dayText(day))}
            style={downStyle(day)}
          />
        ))}
      </div>
      <div className="check-legend ninety-legend">
        <span>{named(days[0]?.day ?? "")}</span>
        <Summary ninety={ninety} />
        <span>{words.today}</span>
      </div>
      <Keys kinds={new Set(kinds)} />
      <Twin days={days} named={named} />
    </section>
  );
}

/** The days that were not simply good, for those who do not see the strip. */
function Twin({ days, named }: { days: readonly DayMark[]; named: (day: string) => string }) {
  const told = days.filter(isToldApart);
  // A table itself would be as wide as its words, seen or not.
  return (
    <div className="sr">
      <table>
        <caption>{words.day.table}</caption>
        <thead>
          <tr>
            <th scope="col">{words.day.column}</th>
            <th scope="col">{words.day.what}</th>
          </tr>
        </thead>
        <tbody>
          {told.map((day) => (
            <tr key={day.day}>
              <th scope="row">{named(day.day)}</th>
              <td>{dayText(day)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function downStyle({ downMs }: DayMark): React.CSSProperties {
  const share = Math.max(DOWN_SHARE_MIN, Math.min(1, (downMs ?? 0) / DAY_MS));
  return { "--down-share": share.toFixed(3) } as React.CSSProperties;
}

function Summary({ ninety }: Pick<CheckPage, "ninety">) {
  const { upShare, downCount, downMs, unseenDays } = ninety;
  return (
    <span className="ninety-sum">
      {upShare !== null ? (
        <>
          <b>{words.share(upShare)}</b> {words.onTime} ·{" "}
        </>
      ) : (
        downCount !== null && `${words.tooShort} · `
      )}
      {downCount === null || downMs === null
        ? words.uncounted
        : downCount === 0
          ? words.noDowns
          : words.downs(downCount, downMs)}
      {unseenDays > 0 && ` · ${words.unseen(unseenDays)}`}
    </span>
  );
}

/** What the columns mean, as far as there are such. */
function Keys({ kinds }: { kinds: ReadonlySet<DayKind> }) {
  const shown = (["up", "down", "quiet", "unseen", "uncounted", "before"] as const).filter((kind) =>
    kinds.has(kind),
  );
  return (
    <ul className="ninety-keys" aria-hidden="true">
      {shown.map((kind) => (
        <li key={kind}>
          <i className={`is-${kind}`} />
          {words.keys[kind]}
        </li>
      ))}
    </ul>
  );
}
