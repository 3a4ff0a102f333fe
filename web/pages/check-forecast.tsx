// The surprises of a check's schedule in the next 12 months, on its page.
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { call } from "../api.ts";
import { useMinute } from "../live/clock.ts";
import { pageHref } from "../page-location.ts";
import { ForecastItem, forecastKey } from "../parts/forecast-entry.tsx";
import { forecastWords as words } from "../words/forecast.ts";

type Props = { check: string; project: string; mayEdit: boolean; schedule: string; tz: string };

/** Nothing is shown without a surprise. The key has the schedule, so that a change is seen at once. */
export function CheckForecast({ check, project, mayEdit, schedule, tz }: Props) {
  const now = useMinute();
  const { data } = useQuery({
    queryKey: [...forecastKey, project, check, schedule, tz],
    queryFn: ({ signal }) => call("getCheckForecast", { check }, signal),
  });
  if (data === undefined || data.entries.length === 0) return null;
  return (
    <section className="panel check-forecast" aria-labelledby="check-forecast">
      <h2 id="check-forecast">{words.ofCheck}</h2>
      {data.entries.map((entry) => (
        <ForecastItem
          key={`${entry.id} ${entry.isIntended}`}
          entry={entry}
          project={project}
          mayEdit={mayEdit}
          now={now}
          check={check}
        />
      ))}
      <Link className="link" href={pageHref("forecast", { project })}>
        {words.ofProject}
      </Link>
    </section>
  );
}
