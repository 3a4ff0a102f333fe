// What the state of an installation means: which part is well, and what to say about each. Pure.
import type { AdminState } from "../../../src/contract/web/admin.ts";
import { adminWords as words } from "../../words/admin.ts";
import { formatBytes, formatShare } from "../../words/number.ts";
import { formatDuration } from "../../words/time.ts";

export type Fact = {
  label: string;
  /** Null: it is neither good nor bad. */
  isWell: boolean | null;
  value: string;
  about: string;
  /** A moment that belongs behind the text. */
  at: number | null;
};

/** A deadline waits its turn for a moment even when all is well, and so does a message. */
const LAG_TOLD_MS = 10_000;
const UNSENT_TOLD_MS = 60_000;

export function factsOf(state: AdminState): Fact[] {
  return [receiving(state), watching(state), telling(state), letters(state), database(state), version(state)];
}

/** How many things need somebody: what the installation tells by itself, or what is seen here to be unwell. */
export function countTroubles(state: AdminState): number {
  const seen = factsOf(state).filter(({ isWell }) => isWell === false).length;
  return Math.max(state.troubles.length, seen);
}

function receiving({ intakes }: AdminState): Fact {
  const { label, none, noneText, ok, lost, lostText, spool, spoolEmpty } = words.receiving;
  const lostCount = intakes.filter(({ isLost }) => isLost).length;
  if (lostCount > 0) return { label, isWell: false, value: lost(lostCount), about: lostText, at: null };
  if (intakes.length === 0) return { label, isWell: false, value: none, about: noneText, at: null };
  const fill = Math.max(...intakes.map(({ spoolFill }) => spoolFill));
  const isEmpty = intakes.every((intake) => intake.spoolEmpty);
  const about = isEmpty ? spoolEmpty : spool(formatShare(fill));
  return { label, isWell: true, value: ok(intakes.length), about, at: null };
}

function watching({ sweeperLagMs }: AdminState): Fact {
  const { label, ok, okText, behind, behindText } = words.watching;
  const isWell = sweeperLagMs < LAG_TOLD_MS;
  return {
    label,
    isWell,
    value: isWell ? ok : behind(formatDuration(sweeperLagMs)),
    about: isWell ? okText : behindText,
    at: null,
  };
}

function telling({ unsentCount, oldestUnsentAt, now }: AdminState): Fact {
  const { label, ok, okText, waits, oldest, later, laterText } = words.telling;
  if (unsentCount === 0) return { label, isWell: true, value: ok, about: okText, at: null };
  if (oldestUnsentAt === null)
    return { label, isWell: true, value: later(unsentCount), about: laterText, at: null };
  const isWell = now - oldestUnsentAt < UNSENT_TOLD_MS;
  return { label, isWell, value: waits(unsentCount), about: oldest, at: oldestUnsentAt };
}

function letters({ mail, oldestLetterAt, now }: AdminState): Fact {
  const { label, on, off, offText, waits, okText } = words.letters;
  if (!mail) return { label, isWell: null, value: off, about: offText, at: null };
  if (oldestLetterAt === null) return { label, isWell: true, value: on, about: okText, at: null };
  const isWell = now - oldestLetterAt < UNSENT_TOLD_MS;
  return { label, isWell, value: on, about: waits, at: oldestLetterAt };
}

function database({ databaseBytes, migrations }: AdminState): Fact {
  const { label, migrations: applied, pending } = words.database;
  const left = migrations.filter(({ appliedAt }) => appliedAt === null).length;
  return {
    label,
    isWell: left === 0,
    value: formatBytes(databaseBytes),
    about: left === 0 ? applied(migrations.length) : pending(left),
    at: null,
  };
}

function version(state: AdminState): Fact {
  return {
    label: words.version.label,
    isWell: null,
    value: state.version,
    about: words.version.newest(state.migrations.at(-1)?.name ?? ""),
    at: null,
  };
}

/** A text for the report of a bug. Nothing of it names a person, a check or a place; nothing is secret. */
export function diagnosticsOf(state: AdminState, browser: string): string {
  const { version: running, now, intakes, sweeperLagMs, unsentCount, oldestUnsentAt, oldestLetterAt } = state;
  const since = (at: number | null) => (at === null ? "none" : formatDuration(now - at));
  const lines: [string, string][] = [
    ["version", running],
    ["at", new Date(now).toISOString()],
    ["browser", browser],
    ["intakes", String(intakes.length)],
    ...intakes.map(({ startedAt, beatAt, isLost, spoolEmpty, spoolFill }, index): [string, string] => [
      `intake ${index + 1}`,
      `up ${since(startedAt)}, beat ${since(beatAt)} ago, ${isLost ? "lost" : "held"}, spool ${spoolEmpty ? "empty" : formatShare(spoolFill)}`,
    ]),
    ["sweeper lag", formatDuration(sweeperLagMs)],
    ["unsent messages", `${unsentCount}, oldest ${since(oldestUnsentAt)}`],
    ["oldest letter", since(oldestLetterAt)],
    ["database", formatBytes(state.databaseBytes)],
    [
      "migrations",
      state.migrations
        .map(({ name, appliedAt }) => (appliedAt === null ? `${name} (missing)` : name))
        .join(", "),
    ],
    [
      "troubles",
      state.troubles.map(({ trouble, sinceAt }) => `${trouble} for ${since(sinceAt)}`).join(", ") || "none",
    ],
    ["mail", state.mail ? "on" : "off"],
    ["registration", state.registrationOpen ? "open" : "closed"],
    [
      "sign-in",
      `oidc ${state.signIn.oidc === null ? "off" : "on"}, proxy header ${state.signIn.proxyHeader === null ? "off" : "on"}`,
    ],
  ];
  return lines.map(([name, value]) => `${name}: ${value}`).join("\n");
}
