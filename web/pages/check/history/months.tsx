// The downtimes of this month and the two before it.
import { formatCount } from "../../../../src/contract/web/list-words.ts";
import type { MonthDowntime } from "../../../../src/contract/web/check-page.ts";
import { historyWords as words } from "../../../words/check/page.ts";
import { formatSpan } from "../../../words/time.ts";

const MONTH = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });

export function Months({ months }: { months: readonly MonthDowntime[] }) {
  return (
    <table className="table check-months">
      <caption>{words.months}</caption>
      <thead>
        <tr>
          <th scope="col">{words.month}</th>
          <th scope="col">{words.count}</th>
          <th scope="col">{words.lasted}</th>
          <th scope="col">{words.available}</th>
        </tr>
      </thead>
      <tbody>
        {months.map(({ month, count, downMs, upShare, isUncounted }, index) => (
          <tr key={month}>
            <th scope="row">
              {MONTH.format(Date.parse(`${month}-01`))}
              {index === 0 && <span className="muted"> · {words.sofar}</span>}
            </th>
            {count === null ? (
              <td colSpan={3} className="muted">
                {isUncounted ? words.uncounted : words.noMonth}
              </td>
            ) : (
              <>
                <td>{formatCount(count)}</td>
                <td>{downMs === null || downMs === 0 ? "–" : formatSpan(downMs)}</td>
                <td>{upShare === null ? words.tooShort : words.share(upShare)}</td>
              </>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
