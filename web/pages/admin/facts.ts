// What to say about each part of an installation; which part is well, the server has decided. Pure.
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

export function factsOf(state: AdminState): Fact[] {
  return [receiving(state), watching(state), telling(state), letters(state), database(state), version(state)];
}

function receiving({ intakes, health, signalsPerMinute }: AdminState): Fact {
  const { label, none, noneText, ok, lost, lostText, spool, spoolEmpty, rate } = words.receiving;
  const fact = { label, isWell: health.receiving, at: null };
  const lostCount = intakes.filter(({ isLost }) => isLost).length;
  if (lostCount > 0) return { ...fact, value: lost(lostCount), about: lostText };
  if (intakes.length === 0) return { ...fact, value: none, about: noneText };
  const fill = Math.max(...intakes.map(({ spoolFill }) => spoolFill));
  const isEmpty = intakes.every((intake) => intake.spoolEmpty);
  const waits = isEmpty ? spoolEmpty : spool(formatShare(fill));
  return { ...fact, value: ok(intakes.length), about: `${rate(signalsPerMinute)} ${waits}` };
}

function watching({ sweeperLagMs, health }: AdminState): Fact {
  const { label, ok, okText, oldest, behind, behindText, held, heldText } = words.watching;
  const fact = { label, isWell: health.watching, at: null };
  const lag = formatDuration(sweeperLagMs);
  if (health.watching !== false)
    return { ...fact, value: ok, about: sweeperLagMs === 0 ? okText : oldest(lag) };
  if (sweeperLagMs === 0) return { ...fact, value: held, about: heldText };
  return { ...fact, value: behind(lag), about: behindText };
}

function telling({ unsentCount, oldestUnsentAt, health }: AdminState): Fact {
  const { label, ok, okText, waits, oldest, later, laterText } = words.telling;
  const fact = { label, isWell: health.telling, at: oldestUnsentAt };
  if (unsentCount === 0) return { ...fact, value: ok, about: okText };
  if (oldestUnsentAt === null) return { ...fact, value: later(unsentCount), about: laterText };
  return { ...fact, value: waits(unsentCount), about: oldest };
}

function letters({ mail, oldestLetterAt, health }: AdminState): Fact {
  const { label, on, off, offText, waits, okText } = words.letters;
  const fact = { label, isWell: health.letters };
  if (!mail) return { ...fact, value: off, about: offText, at: null };
  return { ...fact, value: on, about: oldestLetterAt === null ? okText : waits, at: oldestLetterAt };
}

function database({ databaseBytes, migrations, health }: AdminState): Fact {
  const { label, migrations: applied, pending } = words.database;
  const left = migrations.filter(({ appliedAt }) => appliedAt === null).length;
  return {
    label,
    isWell: health.database,
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
      `ping process ${index + 1}`,
      `up ${since(startedAt)}, heartbeat ${since(beatAt)} ago, ${isLost ? "lost" : "ok"}, spool ${spoolEmpty ? "empty" : formatShare(spoolFill)}`,
    ]),
    ["pings per minute", String(state.signalsPerMinute)],
    ["sweeper lag", formatDuration(sweeperLagMs)],
    ["unsent notifications", `${unsentCount}, oldest ${since(oldestUnsentAt)}`],
    ["oldest unsent email", since(oldestLetterAt)],
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
