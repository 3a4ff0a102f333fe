// Report and reminder emails: the state of a user's checks, and their downtime.
import type { Downtime, Period, ReportedDowntime } from "../core/downtime.ts";
import { downtimeText, sentenceText } from "../core/duration-text.ts";
import { type Instant, SECOND_MS } from "../core/instant.ts";
import { type LocalDay, localDay, type PeriodLength } from "../core/local-time.ts";
import type { ReminderFacts, ReportedCheck, ReportedProject, ReportFacts } from "../core/report.ts";
import { MONTHS } from "../core/schedule/wording.ts";
import type { ShownStatus } from "../core/state.ts";
import { type Html, html } from "../lib/http/html.ts";
import type { Site } from "./channel-kind.ts";
import {
  button,
  FONT,
  type FooterLine,
  inked,
  inlineLink,
  LIGHT,
  mailPage,
  mailText,
  paragraph,
  row,
  subheading,
  undisguised,
} from "./email-layout.ts";
import type { RenderedMail } from "./kinds/email.ts";
import { checkLink, readingText, shownName } from "./message-text.ts";

export type PersonalMailOptions = { site: Site; address: string; unsubscribeUrl: string; now: Instant };

const TITLES = { daily: "Daily report", weekly: "Weekly report", monthly: "Monthly report" } as const;

/** A shape and a color for each status, next to its name. */
const STATUS: Readonly<Record<ShownStatus, { shape: string; colour: "bad" | "good" | "notice" | "ink3" }>> = {
  down: { shape: "◆", colour: "bad" },
  grace: { shape: "◐", colour: "notice" },
  up: { shape: "✔", colour: "good" },
  paused: { shape: "∥", colour: "ink3" },
  new: { shape: "◌", colour: "ink3" },
};

/** The email for a report. */
export function reportMail(report: ReportFacts, options: PersonalMailOptions): RenderedMail {
  const { site } = options;
  const subject = TITLES[report.length];
  const names = report.periods.map((period) => periodName(period, report));
  const briefNames = report.periods.map((period) => periodName(period, { ...report, isBrief: true }));
  const title = reportTitle(report, names.at(-1) ?? "");
  const sentences = summaryOf(report);
  const footer = footerOf(
    options,
    `This report is sent ${REPORT_TIMES[report.length]} (time zone: ${report.zone}).`,
  );
  const blocks = [
    sentences,
    ...report.projects.map((project) => projectText(project, names)),
    [openText(site)],
  ];
  return {
    subject,
    text: mailText({ title, blocks, footer }),
    html: mailPage({
      site,
      tone: report.downCount > 0 ? "bad" : hadDowntime(report) ? "notice" : "good",
      title,
      preview: sentences.join(" "),
      rows: [
        row(sentences.map((text) => paragraph(text))),
        ...report.projects.map((project) =>
          row(projectTable(project, { names: briefNames, site }), { top: 20 }),
        ),
        row(button(openLink(site)), { top: 20 }),
      ],
      footer,
    }),
  };
}

const REPORT_TIMES = {
  daily: "every morning",
  weekly: "on Mondays",
  monthly: "on the first of the month",
} as const;

/** The title summarizes the report. */
function reportTitle({ downCount, last, checkCount }: ReportFacts, period: string): string {
  if (downCount > 0)
    return downCount === 1 ? "1 check needs attention" : `${downCount} checks need attention`;
  const affected = last.affectedCount + last.uncountedCount;
  if (affected > 0) return `${counted(affected, "check")} had downtime: ${period}`;
  return checkCount === 0 ? "No checks yet" : `No downtime: ${period}`;
}

function hadDowntime({ last }: ReportFacts): boolean {
  return last.count + last.uncountedCount > 0;
}

/** Which checks the figures omit. */
function uncounted({ last: { uncountedCount } }: ReportFacts): string {
  if (uncountedCount === 0) return "";
  return `${counted(uncountedCount, "check")} had too many status changes to count. `;
}

function summaryOf(report: ReportFacts): string[] {
  const { last, length } = report;
  const when = { daily: "Yesterday", weekly: "Last week", monthly: "Last month" }[length];
  const rest = `${uncounted(report)}${downNow(report)}`;
  if (last.count === 0)
    return [last.uncountedCount > 0 ? `${when}: ${rest}` : `${when}, no checks were down. ${rest}`];
  const total = sentenceText(Math.floor(last.durationMs / SECOND_MS));
  const what = `${counted(last.count, "downtime")} across ${counted(last.affectedCount, "check")}`;
  return [`${when}, there ${last.count === 1 ? "was" : "were"} ${what}, ${total} in total. ${rest}`];
}

function downNow({ downCount, checkCount }: ReportFacts): string {
  if (checkCount === 0) return "";
  if (checkCount === 1) return `Your check is ${downCount === 0 ? "not " : ""}down now.`;
  if (downCount === 0) return `None of your ${checkCount} checks are down now.`;
  return `${downCount} of your ${checkCount} checks ${downCount === 1 ? "is" : "are"} down now.`;
}

function projectText({ name, checks, unlistedCount }: ReportedProject, names: readonly string[]): string[] {
  const lines = checks.flatMap((check) => [
    `- ${nameOf(check)} (${check.status})`,
    ...check.downtimes.map((downtime, index) => `    ${names[index] ?? ""}: ${downtimeWords(downtime)}`),
  ]);
  return [`${projectName(name)}:`, ...lines, ...unlisted(unlistedCount)];
}

function unlisted(count: number): string[] {
  return count === 0 ? [] : [`… and ${counted(count, "check")} with less or no downtime.`];
}

function downtimeWords(downtime: ReportedDowntime): string {
  if (downtime === null) return "not created yet";
  if (downtime === "uncounted") return "too many to count";
  if (downtime.count === 0) return "none";
  return `${counted(downtime.count, "downtime")}, ${durationOf(downtime)}`;
}

function durationOf({ durationMs }: Downtime): string {
  return downtimeText(Math.floor(durationMs / SECOND_MS));
}

function projectTable(
  { name, checks, unlistedCount }: ReportedProject,
  { names, site }: { names: readonly string[]; site: Site },
): Html {
  const head = inked("ink3");
  const heads = ["Check", ...names].map(
    (text, index) =>
      html`<th class="${index === 1 && "wide"}"${index > 0 && html` width="112"`} align="${index === 0 ? "left" : "right"}" style="padding:0 0 6px ${index === 0 ? 0 : 12}px;"><span class="${head.name}" style="font:400 12px/18px ${FONT};${head.style}">${text}</span></th>`,
  );
  const rows = checks.map((check) => checkRow(check, site));
  const rest = unlisted(unlistedCount).map((text) => paragraph(text, { isMuted: true }));
  return html`${subheading(projectName(name))}<table width="100%" cellpadding="0" cellspacing="0" border="0">
<tr>${heads}</tr>
${rows}</table>${rest}`;
}

function checkRow(check: ReportedCheck, site: Site): Html {
  const { shape, colour } = STATUS[check.status];
  const mark = inked(colour);
  const line = `border-top:1px solid ${LIGHT.line};`;
  const cells = check.downtimes.map(
    (downtime, index) =>
      html`<td class="lined${index === 0 && " wide"}" width="112" align="right" valign="top" style="padding:8px 0 8px 12px;${line}font:400 13px/20px ${FONT};">${downtimeCell(downtime)}</td>`,
  );
  return html`<tr>
<td class="lined" valign="top" style="padding:8px 0;${line}font:400 14px/20px ${FONT};word-break:break-word;"><span class="${mark.name}" style="${mark.style}">${shape}&nbsp;${check.status}</span>&ensp;${inlineLink({ text: nameOf(check), url: checkLink(site, check.uuid) })}</td>
${cells}</tr>
`;
}

function downtimeCell(downtime: ReportedDowntime): Html {
  const ink = inked("ink");
  const muted = inked("ink3");
  const small = (text: string) => html`<span class="${muted.name}" style="${muted.style}">${text}</span>`;
  if (downtime === null) return small("–");
  if (downtime === "uncounted") return small("too many to count");
  if (downtime.count === 0) return small("none");
  return html`<span class="${ink.name}" style="${ink.style}">${durationOf(downtime)}</span><br>${small(counted(downtime.count, "downtime"))}`;
}

/** The email for a reminder. */
export function reminderMail(
  { down, downCount, zone }: ReminderFacts,
  options: PersonalMailOptions,
): RenderedMail {
  const { site, now } = options;
  const title = downCount === 1 ? "1 check is still down" : `${downCount} checks are still down`;
  const unlistedCount = downCount - down.length;
  const lines = down.map((check) => ({ check, when: whenOf(check, { zone, now }) }));
  const more =
    unlistedCount === 0 ? [] : [`… and ${unlistedCount} more ${unlistedCount === 1 ? "check" : "checks"}.`];
  const footer = footerOf(options, "This reminder is repeated while any check is down.");
  const listed = lines.map(
    ({ check, when }) => `- ${nameOf(check)} (${projectName(check.projectName)}): ${when}`,
  );
  return {
    subject: title,
    text: mailText({ title, blocks: [[...listed, ...more], [openText(site)]], footer }),
    html: mailPage({
      site,
      tone: "bad",
      title,
      preview: down.map(nameOf).join(", "),
      rows: [
        row(downTable(lines, site), { top: 14 }),
        ...more.map((text) => row(paragraph(text, { isMuted: true }))),
        row(button(openLink(site)), { top: 20 }),
      ],
      footer,
    }),
  };
}

type Down = ReminderFacts["down"][number];

function whenOf({ downSinceAt, lastPingAt }: Down, { zone, now }: { zone: string; now: Instant }): string {
  const age = (at: Instant) => sentenceText(Math.max(0, Math.floor((now - at) / SECOND_MS)));
  const since =
    downSinceAt === null ? "down" : `down for ${age(downSinceAt)}, since ${readingText(downSinceAt, zone)}`;
  return `${since}; ${lastPingAt === null ? "never pinged" : `last ping ${age(lastPingAt)} ago`}`;
}

function downTable(lines: readonly { check: Down; when: string }[], site: Site): Html {
  const mark = inked("bad");
  const ink = inked("ink2");
  const rows = lines.map(
    ({
      check,
      when,
    }) => html`<tr><td class="lined" style="padding:9px 0;border-top:1px solid ${LIGHT.line};font:400 14px/20px ${FONT};word-break:break-word;">
<span class="${mark.name}" style="${mark.style}">◆</span>&ensp;${inlineLink({ text: nameOf(check), url: checkLink(site, check.uuid) })}<br>
<span class="${ink.name}" style="font-size:13px;${ink.style}">${projectName(check.projectName)}: ${when}</span>
</td></tr>
`,
  );
  return html`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0">
${rows}</table>`;
}

function nameOf(check: { name: string }): string {
  return shownName({ name: undisguised(check.name) });
}

function projectName(name: string): string {
  return undisguised(name) || "unnamed project";
}

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

function openLink(site: Site) {
  return { text: `Open ${site.name}`, url: `${site.url}/` };
}

function openText(site: Site): string {
  const { text, url } = openLink(site);
  return `${text}: ${url}`;
}

function footerOf({ site, address, unsubscribeUrl }: PersonalMailOptions, when: string): FooterLine[] {
  return [
    { text: `Sent by ${site.name} to ${address}. ${when}` },
    { text: "Don't want reports and reminders?", link: { text: "Unsubscribe", url: unsubscribeUrl } },
  ];
}

export type Naming = {
  length: PeriodLength;
  zone: string /** Used for narrow columns. */;
  isBrief?: boolean;
};

/** The name of a period, in a time zone. */
function periodName({ from, to }: Period, { length, zone, isBrief = false }: Naming): string {
  const monthOf = ({ month }: LocalDay) =>
    (MONTHS[month - 1] ?? "").slice(0, isBrief ? BRIEF_LENGTH : undefined);
  const dayName = (day: LocalDay) => `${day.day} ${monthOf(day)}`;
  const first = localDay(from, zone);
  if (length === "monthly") return `${monthOf(first)} ${first.year}`;
  if (length === "daily") return dayName(first);
  const last = localDay(to - 1, zone);
  const beginning = first.month === last.month ? String(first.day) : dayName(first);
  return `${beginning} to ${dayName(last)}`;
}

const BRIEF_LENGTH = 3;
