// Timers of systemd: reads what systemctl shows of them, and writes the drop-in that makes their services report.
import { boundedGrace, type ProposedTiming } from "./discovery.ts";
import { PERIOD_SECONDS_MAX, PERIOD_SECONDS_MIN, SCHEDULE_LENGTH_MAX } from "./limits.ts";
import { isValidSchedule } from "./schedule/schedule.ts";

/** The properties that are read, for `systemctl show --property`. */
export const UNIT_PROPERTIES = [
  "Id",
  "Description",
  "Unit",
  "LoadState",
  "TimersCalendar",
  "TimersMonotonic",
  "RandomizedDelayUSec",
  "AccuracyUSec",
  "DropInPaths",
  "ExecStopPost",
  "PrivateNetwork",
  "RemainAfterExit",
] as const;

/** The drop-in in the folder of a service. */
export const DROP_IN = "50-overdue.conf";

export type FoundTimer = {
  timer: string;
  service: string;
  description: string;
  timing: ProposedTiming;
  /** How much later than planned systemd may start the job. */
  delaySeconds: number;
};

/**
 * Why a timer is left out: it runs after boot only, its schedule cannot be read, it runs more often than a check can
 * expect, its service has no network or stays active, or the service does not exist.
 */
export type TimerReason = "boot" | "schedule" | "often" | "network" | "active" | "service";

/** The end of a sentence that begins with the timer. */
export const TIMER_REASONS: Readonly<Record<TimerReason, string>> = {
  boot: "runs only after boot or activation, not on a schedule",
  schedule: "has a schedule that Overdue does not support",
  often: "runs more often than once a minute",
  network: "starts a service without network access (PrivateNetwork=yes)",
  active: "starts a service that stays active (RemainAfterExit=yes)",
  service: "starts a service that does not exist",
};

export type Timers = {
  timers: FoundTimer[];
  /** Timers whose services have the drop-in, or another command with a ping URL. */
  reporting: { timer: string; service: string }[];
  leftOut: { timer: string; why: TimerReason }[];
};

type Unit = ReadonlyMap<string, readonly string[]>;

/** The timers in the output of `systemctl show` for timers and their services. */
export function readTimers(shown: string, { tz }: { tz: string }): Timers {
  const units = new Map(unitsOf(shown).map((unit) => [one(unit, "Id"), unit]));
  const found: Timers = { timers: [], reporting: [], leftOut: [] };
  for (const [timer, unit] of units) {
    if (!timer.endsWith(".timer")) continue;
    const service = one(unit, "Unit") || timer.replace(/timer$/, "service");
    const own = units.get(service);
    if (own !== undefined && isReporting(own)) {
      found.reporting.push({ timer, service });
      continue;
    }
    const read = own === undefined ? "service" : (obstacleOf(own) ?? timingOf(unit, tz));
    if (typeof read === "string") found.leftOut.push({ timer, why: read });
    else {
      const delays = [one(unit, "RandomizedDelayUSec"), one(unit, "AccuracyUSec")];
      const delaySeconds = delays.reduce((sum, text) => sum + (spanSeconds(text) ?? 0), 0);
      const description = (own === undefined ? "" : one(own, "Description")) || one(unit, "Description");
      found.timers.push({ timer, service, description, timing: read, delaySeconds });
    }
  }
  return found;
}

/** Units are separated by empty lines; a property can be there several times. */
function unitsOf(shown: string): Unit[] {
  const units: Unit[] = [];
  let unit = new Map<string, string[]>();
  for (const line of shown.split("\n")) {
    const at = line.indexOf("=");
    if (at === -1) {
      if (unit.size > 0 && line.trim() === "") {
        units.push(unit);
        unit = new Map();
      }
      continue;
    }
    const name = line.slice(0, at).trim();
    const value = line.slice(at + 1).trim();
    const values = unit.get(name);
    if (values === undefined) unit.set(name, [value]);
    else values.push(value);
  }
  return [...units, unit];
}

function one(unit: Unit, name: string): string {
  return unit.get(name)?.[0] ?? "";
}

function isReporting(service: Unit): boolean {
  const isOurs = one(service, "DropInPaths")
    .split(" ")
    .some((path) => path.endsWith(`/${DROP_IN}`));
  return isOurs || (service.get("ExecStopPost") ?? []).some((text) => PING_URL.test(text));
}

const PING_URL = /\/ping\/[0-9a-f]{8}-|hc-ping\.com\//;

function obstacleOf(service: Unit): TimerReason | null {
  if (one(service, "LoadState") === "not-found") return "service";
  if (one(service, "PrivateNetwork") === "yes") return "network";
  return one(service, "RemainAfterExit") === "yes" ? "active" : null;
}

const TIMER = /^\{ (\w+)=(.*) ; next_elapse=/;
/** Those that repeat. The others count from boot, from the start of systemd, or from the activation of the timer. */
const REPEATING = new Set(["OnUnitActiveUSec", "OnUnitInactiveUSec"]);

function timingOf(unit: Unit, tz: string): ProposedTiming | TimerReason {
  const calendars = timesOf(unit, "TimersCalendar").map(({ value }) => value);
  if (calendars.length > 0) {
    const schedule = calendars.join("\n");
    const isValid = schedule.length <= SCHEDULE_LENGTH_MAX && isValidSchedule(schedule, { oncalendar: true });
    return isValid ? { schedule, tz } : "schedule";
  }
  const spans = timesOf(unit, "TimersMonotonic").filter(({ name }) => REPEATING.has(name));
  const seconds = spans.map(({ value }) => spanSeconds(value)).filter((span) => span !== null);
  if (seconds.length === 0) return spans.length === 0 ? "boot" : "schedule";
  const periodSeconds = Math.ceil(Math.min(...seconds));
  if (periodSeconds < PERIOD_SECONDS_MIN) return "often";
  return periodSeconds > PERIOD_SECONDS_MAX ? "schedule" : { periodSeconds };
}

function timesOf(unit: Unit, property: string): { name: string; value: string }[] {
  return (unit.get(property) ?? []).flatMap((text) => {
    const [, name = "", value = ""] = TIMER.exec(text) ?? [];
    return name === "" ? [] : [{ name, value: value.trim() }];
  });
}

const SPAN_SECONDS: Readonly<Record<string, number>> = {
  us: 1e-6,
  ms: 1e-3,
  s: 1,
  min: 60,
  h: 3_600,
  d: 86_400,
  w: 604_800,
  month: 2_629_800,
  y: 31_557_600,
};

/** A time span as systemctl prints it, such as `1h 30min`; null for `infinity` and anything else. */
function spanSeconds(text: string): number | null {
  if (text === "" || text === "0") return 0;
  let seconds = 0;
  for (const part of text.split(" ")) {
    const [, count = "", unit = ""] = /^(\d{1,10}(?:\.\d{1,6})?)([a-z]{1,5})$/.exec(part) ?? [];
    const factor = SPAN_SECONDS[unit];
    if (factor === undefined) return null;
    seconds += Number(count) * factor;
  }
  return seconds;
}

/** The grace period with the delay that systemd may add. */
export function timerGrace(graceSeconds: number, { delaySeconds }: Pick<FoundTimer, "delaySeconds">): number {
  return boundedGrace(graceSeconds + delaySeconds);
}

/** The ID of the run: that of systemd, with hyphens. */
const RUN_ID = `$$(echo $$INVOCATION_ID | sed "s/./&-/8;s/./&-/13;s/./&-/18;s/./&-/23")`;
const CURL = "curl -fsS -o /dev/null";

/**
 * The drop-in of a service. It runs with full privileges, because a service can be forbidden to read the journal or to
 * open connections. Neither command changes the result of the service.
 */
export function dropInText(pingUrl: string): string {
  const url = pingUrl.replaceAll("%", "%%");
  const status =
    'case "$$SERVICE_RESULT/$$EXIT_CODE" in success/*) s=0;; exec-condition/*) s=log;; */exited) s=$$EXIT_STATUS;; *) s=fail;; esac';
  const output =
    '{ echo "result: $$SERVICE_RESULT, $$EXIT_CODE $$EXIT_STATUS"; journalctl -q -o cat -n 100 _SYSTEMD_INVOCATION_ID=$$INVOCATION_ID; } 2>/dev/null | tail -c 10000';
  return [
    "# Reports this service to Overdue. To remove it, run: overdue discover systemd --undo",
    "[Service]",
    `ExecStartPre=-+/bin/sh -c '${CURL} -m 2 "${url}/start?rid=${RUN_ID}"'`,
    `ExecStopPost=-+/bin/sh -c '${status}; ${output} | ${CURL} -m 4 --retry 2 --retry-connrefused --data-binary @- "${url}/$$s?rid=${RUN_ID}"'`,
    "",
  ].join("\n");
}
