// Windows of silences compared with a second evaluator that looks at every minute of two years, and properties of holds
// for any silences.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HOUR_MS, MINUTE_MS } from "./instant.ts";
import { nextWindow, type Silence, silencedUntil, windowAt } from "./silence.ts";

const ZONES = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "America/St_Johns",
  "Asia/Kolkata",
  "Australia/Lord_Howe",
  "Pacific/Chatham",
  "Pacific/Apia",
  "Africa/Casablanca",
  "Antarctica/Troll",
];

const FROM = Date.UTC(2025, 11, 1);
const MINUTES = 2 * 365 * 24 * 60;
/** Before the two years, so that windows that began earlier are known. */
const LEAD_MINUTES = 8 * 24 * 60;

type Local = { minute: number; hour: number; day: number; month: number; weekday: number };

/** `clock`: a skipped time fires when the gap ends. `calendar`: it is left out. `interval`: repeated times fire again. */
type Sample = {
  text: string;
  mode: "clock" | "calendar" | "interval";
  minutes: number;
  matches(local: Local): boolean;
};

const SAMPLES: readonly Sample[] = [
  {
    text: "30 2 * * *",
    mode: "clock",
    minutes: 90,
    matches: ({ minute, hour }) => minute === 30 && hour === 2,
  },
  {
    text: "0 22 * * 6",
    mode: "clock",
    minutes: 240,
    matches: ({ minute, hour, weekday }) => minute === 0 && hour === 22 && weekday === 6,
  },
  {
    // Adjacent windows.
    text: "0 0 * * 6,0",
    mode: "clock",
    minutes: 24 * 60,
    matches: ({ minute, hour, weekday }) => minute === 0 && hour === 0 && (weekday === 6 || weekday === 0),
  },
  {
    text: "15 3 1 * *",
    mode: "clock",
    minutes: 7 * 24 * 60,
    matches: ({ minute, hour, day }) => minute === 15 && hour === 3 && day === 1,
  },
  {
    text: "*-03..11-* 02:15:00",
    mode: "calendar",
    minutes: 1,
    matches: ({ minute, hour, month }) => minute === 15 && hour === 2 && month >= 3 && month <= 11,
  },
  {
    // Overlapping windows.
    text: "*/20 1-3 * * *",
    mode: "interval",
    minutes: 45,
    matches: ({ minute, hour }) => minute % 20 === 0 && hour >= 1 && hour <= 3,
  },
];

/** Offsets from UTC in minutes, for each minute from LEAD_MINUTES before FROM on. */
function offsetsOf(zone: string): Int16Array {
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
  const offsetAt = (index: number): number => {
    const at = FROM + (index - LEAD_MINUTES) * MINUTE_MS;
    const name = format.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value ?? "";
    const [, sign, hours = "0", minutes = "0"] = /^GMT([+-])(\d+):(\d+)$/.exec(name) ?? [];
    return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  };
  const offsets = new Int16Array(LEAD_MINUTES + MINUTES);
  const fill = (from: number, to: number, first: number, last: number): void => {
    if (first === last || to - from === 1) {
      offsets.fill(first, from, to);
      return;
    }
    const middle = (from + to) >> 1;
    const between = offsetAt(middle);
    fill(from, middle, first, between);
    fill(middle, to, between, last);
  };
  const step = 24 * 60;
  for (let from = 0; from < offsets.length; from += step) {
    const to = Math.min(from + step, offsets.length);
    fill(from, to, offsetAt(from), offsetAt(to));
  }
  return offsets;
}

const START_MINUTE = FROM / MINUTE_MS - LEAD_MINUTES;

const MINUTES_OF_DAY = 24 * 60;

/** The date of each day, because dates are slow to compute for each minute. */
const DATES = new Map<number, Pick<Local, "day" | "month" | "weekday">>();

function dateOf(dayNumber: number): Pick<Local, "day" | "month" | "weekday"> {
  const known = DATES.get(dayNumber);
  if (known !== undefined) return known;
  const date = new Date(dayNumber * MINUTES_OF_DAY * MINUTE_MS);
  const found = { day: date.getUTCDate(), month: date.getUTCMonth() + 1, weekday: date.getUTCDay() };
  DATES.set(dayNumber, found);
  return found;
}

function localOf(reading: number): Local {
  const dayNumber = Math.floor(reading / MINUTES_OF_DAY);
  const { day, month, weekday } = dateOf(dayNumber);
  const minutes = reading - dayNumber * MINUTES_OF_DAY;
  return { minute: minutes % 60, hour: Math.floor(minutes / 60), day, month, weekday };
}

const NONE: readonly Local[] = [];

/** The local times that clocks skip when they are set forward. */
function readingsBetween(before: number, after: number): Local[] {
  return Array.from({ length: after - before - 1 }, (_, index) => localOf(before + 1 + index));
}

/** For each sample, whether each minute fires. */
function firingsOf(offsets: Int16Array): Uint8Array[] {
  const firings = SAMPLES.map((sample) => ({ sample, fires: new Uint8Array(offsets.length) }));
  /** The latest reading that the clocks have shown: earlier ones are repeated. */
  let shown = START_MINUTE + (offsets[0] ?? 0) - 1;
  for (let index = 0; index < offsets.length; index += 1) {
    const reading = START_MINUTE + index + (offsets[index] ?? 0);
    const isRepeated = reading <= shown;
    const local = localOf(reading);
    const skipped = reading <= shown + 1 ? NONE : readingsBetween(shown, reading);
    for (const { sample, fires } of firings) {
      if (sample.matches(local) && (sample.mode === "interval" || !isRepeated)) fires[index] = 1;
      if (sample.mode === "clock" && skipped.some((at) => sample.matches(at))) fires[index] = 1;
    }
    shown = Math.max(shown, reading);
  }
  return firings.map(({ fires }) => fires);
}

function recurring(sample: Sample, tz: string): Silence {
  return {
    id: 1,
    uuid: "00000000-0000-4000-8000-000000000001",
    scope: { kind: "all" },
    from: 0,
    until: null,
    untilSuccess: false,
    schedule: sample.text,
    tz,
    durationSeconds: sample.minutes * 60,
    holdAfterSeconds: 0,
    reason: "",
    accountId: null,
    endedAt: null,
    version: 1,
  };
}

/** The minutes in which the windows differ from what the clocks say, at most ten. */
function differences(silence: Silence, { fires, minutes }: { fires: Uint8Array; minutes: number }): string[] {
  const wrong: string[] = [];
  let firedAt = -Infinity;
  let window = nextWindow(silence, FROM);
  for (let index = 0; index < fires.length && wrong.length < 10; index += 1) {
    if (fires[index] === 1) firedAt = index;
    if (index < LEAD_MINUTES) continue;
    const at = FROM + (index - LEAD_MINUTES) * MINUTE_MS;
    while (window !== null && window.to <= at) window = nextWindow(silence, window.to);
    const isSilent = window !== null && window.from <= at;
    if (isSilent !== index - firedAt < minutes) {
      wrong.push(`${new Date(at).toISOString()}: ${isSilent ? "silent" : "not silent"}`);
    }
    // The same answer from any instant inside of the window.
    if (index % 997 === 0 && isSilent) expect(windowAt(silence, at)).toEqual(window);
  }
  return wrong;
}

describe.each(ZONES)("in %s, the windows of two years are those of the clocks", (zone) => {
  test("for all samples", () => {
    const firings = firingsOf(offsetsOf(zone));
    for (const [index, sample] of SAMPLES.entries()) {
      const fires = firings[index] ?? new Uint8Array();
      const { text, minutes } = sample;
      expect(differences(recurring(sample, zone), { fires, minutes }), text).toEqual([]);
    }
  });
});

const NOW = Date.UTC(2026, 2, 28, 12);
const base = recurring(SAMPLES[0] as Sample, "Europe/Berlin");
const span = fc.integer({ min: -6 * 60, max: 48 * 60 }).map((minutes) => NOW + minutes * MINUTE_MS);
const hold = fc.constantFrom(0, 0, 600, 3_600, 86_400);
const once: fc.Arbitrary<Silence> = fc
  .tuple(span, fc.integer({ min: 1, max: 600 }), hold)
  .map(([from, minutes, holdAfterSeconds]) => ({
    ...base,
    from,
    until: from + minutes * MINUTE_MS,
    schedule: null,
    tz: null,
    durationSeconds: null,
    holdAfterSeconds,
  }));
const often: fc.Arbitrary<Silence> = fc
  .tuple(fc.constantFrom(...SAMPLES), fc.constantFrom(...ZONES), hold, fc.option(span))
  .map(([sample, tz, holdAfterSeconds, endedAt]) => ({
    ...recurring(sample, tz),
    holdAfterSeconds,
    endedAt,
  }));
const silences = fc.array(fc.oneof(once, often), { maxLength: 5 });
const timing = {
  kind: "cron" as const,
  timeoutSeconds: 60,
  graceSeconds: 900,
  schedule: "0 */4 * * *",
  tz: "UTC",
  manualResume: false,
  rules: null,
};

describe("for any silences", () => {
  const check = { id: 1, tags: "", timing };

  test("an alert is held exactly until the end that is given, and then no more", () => {
    fc.assert(
      fc.property(silences, fc.integer({ min: 0, max: 24 * 60 }), (all, age) => {
        const alert = { openedAt: NOW - age * MINUTE_MS, lastSuccessAt: null };
        const held = silencedUntil(all, { check, alert, now: NOW });
        if (held === null) return;
        expect(all).toContain(held.silence);
        expect(held.until).toBeGreaterThan(NOW);
        for (const share of [0.25, 0.5, 0.999]) {
          const now = Math.floor(NOW + (held.until - NOW) * share);
          expect(silencedUntil(all, { check, alert, now })?.until).toBe(held.until);
        }
        expect(silencedUntil(all, { check, alert, now: held.until })).toBeNull();
      }),
      { numRuns: 1_000 },
    );
  });

  test("it is sent at the latest after the end of the last window and its wait", () => {
    fc.assert(
      fc.property(silences, (all) => {
        const alert = { openedAt: NOW, lastSuccessAt: null };
        const held = silencedUntil(all, { check, alert, now: NOW });
        let at = NOW;
        // Windows one after another, each with its whole wait.
        for (let isHeld = true; isHeld; ) {
          const ends = all.flatMap((one) => {
            const holdMs = one.holdAfterSeconds * 1_000;
            const found: number[] = [];
            let window = nextWindow(one, at - holdMs);
            while (window !== null && window.from <= at) {
              if (window.to > NOW) found.push(window.to + holdMs);
              window = nextWindow(one, window.to);
            }
            return found;
          });
          const latest = Math.max(at, ...ends);
          isHeld = latest > at && latest < NOW + 14 * 24 * HOUR_MS;
          at = latest;
        }
        expect(held?.until ?? NOW).toBeLessThanOrEqual(at);
      }),
      { numRuns: 500 },
    );
  });
});
