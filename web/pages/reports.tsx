// The reports page: noisy checks, checks that are getting slower, and the report email. Made to be printed.
import "./reports.css";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link, useSearchParams } from "wouter";
import type { NoisyCheck, Report, SlowerCheck } from "../../src/contract/api/report.ts";
import { checkName } from "../../src/contract/api/words.ts";
import { call, operationUrl } from "../api.ts";
import { siteUrl, userZone } from "../boot.ts";
import { useMinute } from "../live/clock.ts";
import { pageHref, type PageProps, usePageTitle } from "../page-location.ts";
import { Section } from "../parts/section.tsx";
import { Button, ButtonLink } from "../ui/button.tsx";
import { DocsLink } from "../ui/docs-link.tsx";
import { SelectField } from "../ui/field.tsx";
import { Queried } from "../ui/page-state.tsx";
import { formatDay, formatDuration, formatShare } from "../words/format.ts";
import { reportsWords as words } from "../words/reports.ts";

const PERIODS = ["30", "90"] as const;
type Period = (typeof PERIODS)[number];

export function ReportsPage({ params }: PageProps) {
  const project = params.project ?? "";
  const [search, setSearch] = useSearchParams();
  const days = PERIODS.find((one) => one === search.get("days")) ?? "30";
  const query = useQuery({
    queryKey: ["report", project, days],
    queryFn: () => call("getReport", { project, query: { days } }),
    // The last one stays while another period is read.
    placeholderData: (before) => before,
  });
  const title = query.data === undefined ? words.tab : words.title(query.data);
  usePageTitle(title);
  return (
    <div className="reports">
      <header className="top">
        <h1>{title}</h1>
        <DocsLink to="reports" />
      </header>
      <Controls
        project={project}
        days={days}
        onDays={(next) => setSearch(next === "30" ? {} : { days: next }, { replace: true })}
      />
      <Queried query={query}>
        {(report) => (
          <>
            <Lead report={report} />
            <NoiseSection report={report} />
            <SlowerSection report={report} />
          </>
        )}
      </Queried>
      <EmailSection />
    </div>
  );
}

type ControlsProps = { project: string; days: Period; onDays: (days: Period) => void };

function Controls({ project, days, onDays }: ControlsProps) {
  const input = { project, query: { days } };
  return (
    <div className="reports-controls">
      <SelectField
        label={words.period}
        value={days}
        onChange={({ target }) => onDays(target.value === "90" ? "90" : "30")}
      >
        {PERIODS.map((one) => (
          <option key={one} value={one}>
            {words.days(Number(one))}
          </option>
        ))}
      </SelectField>
      <a className="button is-quiet" href={operationUrl("exportReportCsv", input)} download="report.csv">
        {words.csv}
      </a>
      <a className="button is-quiet" href={operationUrl("getReport", input)} download="report.json">
        {words.json}
      </a>
      <Button onClick={() => window.print()}>{words.print}</Button>
    </div>
  );
}

function Lead({ report }: { report: Report }) {
  const now = useMinute();
  const reader = { now, zone: userZone };
  return (
    <p className="reports-lead">
      <span className="reports-project">{report.project}: </span>
      {words.lead(formatDay(report.from, reader), formatDay(report.to, reader))}
    </p>
  );
}

function NoiseSection({ report: { noise } }: { report: Report }) {
  const { columns } = words.noise;
  return (
    <Section title={words.noise.title} about={words.noise.about(noise)}>
      {noise.checks.length === 0 ? (
        <Nothing title={words.noise.none} text={words.noise.noneText(noise.alertCount)} />
      ) : (
        <>
          <p>
            {words.noise.summary(noise)} {words.noise.fix}
          </p>
          <Table heads={Object.values(columns)}>
            {noise.checks.map((check) => (
              <NoiseRow key={check.id} check={check} />
            ))}
          </Table>
        </>
      )}
      {!noise.isComplete && <p>{words.noise.cut(noise.alertCount)}</p>}
      <More count={noise.unlistedCount} />
    </Section>
  );
}

function NoiseRow({ check }: { check: NoisyCheck }) {
  const { columns } = words.noise;
  return (
    <tr>
      <CheckCell check={check} />
      <Cell head={columns.noise}>{check.noiseCount}</Cell>
      <Cell head={columns.alerts}>{check.alertCount}</Cell>
      <Cell head={columns.recovery}>{formatDuration(check.medianRecoveryMs)}</Cell>
    </tr>
  );
}

/** The server examines this many. */
const EXAMINED_MAX = 200;

function SlowerSection({ report: { slower } }: { report: Report }) {
  const { columns } = words.slower;
  return (
    <Section title={words.slower.title} about={words.slower.about(slower)}>
      {slower.checks.length === 0 ? (
        <Nothing
          title={words.slower.none}
          text={words.slower.noneText(slower.comparedCount, slower.daysMin)}
        />
      ) : (
        <>
          <p>{words.slower.compared(slower.comparedCount)}</p>
          <Table heads={Object.values(columns)}>
            {slower.checks.map((check) => (
              <SlowerRow key={check.id} check={check} />
            ))}
          </Table>
        </>
      )}
      {!slower.isComplete && <p>{words.slower.cut(EXAMINED_MAX)}</p>}
      <More count={slower.unlistedCount} />
    </Section>
  );
}

function SlowerRow({ check }: { check: SlowerCheck }) {
  const { columns } = words.slower;
  return (
    <tr>
      <CheckCell check={check} />
      <Cell head={columns.days}>{check.dayCount}</Cell>
      <Cell head={columns.start}>{formatDuration(check.startMs)}</Cell>
      <Cell head={columns.end}>{formatDuration(check.endMs)}</Cell>
      <Cell head={columns.rise}>+{formatShare(check.rise)}</Cell>
      <Cell head={columns.order}>{formatShare(check.slowerShare)}</Cell>
      <Cell head={columns.z}>{check.z.toFixed(1)}</Cell>
      <Cell head={columns.chart}>
        <Chart check={check} />
      </Cell>
    </tr>
  );
}

/** A phone shows the head of its column in front of each value. */
function Cell({ head, children }: { head: string; children: ReactNode }) {
  return <td data-head={head}>{children}</td>;
}

const CHART = { width: 120, height: 24 };

function Chart({ check }: { check: SlowerCheck }) {
  const values = check.days.map(({ averageMs }) => averageMs);
  const label = words.slower.chart(
    checkName(check),
    formatDuration(check.startMs),
    formatDuration(check.endMs),
  );
  return (
    <svg
      className="reports-chart"
      viewBox={`0 0 ${CHART.width} ${CHART.height}`}
      width={CHART.width}
      height={CHART.height}
      role="img"
      aria-label={label}
    >
      <polyline points={pointsOf(values)} />
    </svg>
  );
}

function pointsOf(values: readonly number[]): string {
  const high = Math.max(1, ...values);
  const step = CHART.width / Math.max(1, values.length - 1);
  return values
    .map(
      (value, index) =>
        `${(index * step).toFixed(1)},${(CHART.height - 1 - (value / high) * (CHART.height - 2)).toFixed(1)}`,
    )
    .join(" ");
}

function CheckCell({ check }: { check: { id: string; name: string } }) {
  return (
    <th scope="row">
      <Link href={pageHref("check", { check: check.id })}>{checkName(check)}</Link>
    </th>
  );
}

function Table({ heads, children }: { heads: readonly string[]; children: ReactNode }) {
  return (
    <table className="reports-table">
      <thead>
        <tr>
          {heads.map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}

function Nothing({ title, text }: { title: string; text: string }) {
  return (
    <p className="reports-none">
      <b>{title}.</b> {text}
    </p>
  );
}

function More({ count }: { count: number }) {
  return count === 0 ? null : <p>{words.more(count)}</p>;
}

type Length = keyof typeof words.email.lengths;

function EmailSection() {
  const [length, setLength] = useState<Length>("weekly");
  const query = useQuery({
    queryKey: ["report-preview", length],
    queryFn: () => call("previewReport", { query: { length } }),
    placeholderData: (before) => before,
  });
  return (
    <div className="reports-email">
      <Section title={words.email.title} about={words.email.about}>
        <div className="reports-controls">
          <SelectField
            label={words.email.length}
            value={length}
            onChange={({ target }) => setLength(target.value as Length)}
          >
            {Object.entries(words.email.lengths).map(([name, text]) => (
              <option key={name} value={name}>
                {text}
              </option>
            ))}
          </SelectField>
          <a
            className="button is-quiet"
            href={siteUrl(`/accounts/report-preview/${length}/`)}
            target="_blank"
            rel="noopener"
          >
            {words.email.open}
          </a>
          <ButtonLink href={pageHref("profile")}>{words.email.settings}</ButtonLink>
        </div>
        <Queried query={query} rows={3}>
          {({ subject, text }) => (
            <div className="code">
              <p className="reports-subject">
                {words.email.subject} <b>{subject}</b>
              </p>
              <pre tabIndex={0} aria-label={words.email.preview}>
                {text}
              </pre>
            </div>
          )}
        </Queried>
      </Section>
    </div>
  );
}
