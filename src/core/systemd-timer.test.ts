// Timers as `systemctl show` of systemd 252 prints them, and the drop-in of a service.
import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { dropInText, readTimers, timerGrace } from "./systemd-timer.ts";

const timer = (id: string, lines: readonly string[]) =>
  [`Id=${id}.timer`, `Description=Run ${id}`, `Unit=${id}.service`, ...lines].join("\n");
const service = (id: string, lines: readonly string[] = []) =>
  [`Id=${id}.service`, `Description=The ${id} job`, "LoadState=loaded", ...lines].join("\n");
const read = (...units: string[]) => readTimers(units.join("\n\n"), { tz: "Europe/Riga" });

const CALENDAR = "TimersCalendar={ OnCalendar=*-*-* 06,18:00:00 ; next_elapse=Wed 2026-11-18 06:00:00 EET }";
const MONOTONIC = "TimersMonotonic={ OnUnitActiveUSec=1d ; next_elapse=1d 15min }";
const BOOT = "TimersMonotonic={ OnBootUSec=15min ; next_elapse=15min }";

describe("a timer", () => {
  test("by the calendar keeps its expression, and its delays extend the grace period", () => {
    const { timers } = read(
      timer("apt-daily", [CALENDAR, "RandomizedDelayUSec=12h", "AccuracyUSec=1min"]),
      service("apt-daily"),
    );
    expect(timers).toEqual([
      {
        timer: "apt-daily.timer",
        service: "apt-daily.service",
        description: "The apt-daily job",
        timing: { schedule: "*-*-* 06,18:00:00", tz: "Europe/Riga" },
        delaySeconds: 43_260,
      },
    ]);
    expect(timerGrace(3_600, { delaySeconds: 43_260 })).toBe(46_860);
  });

  test("with several expressions has them all", () => {
    const second = "TimersCalendar={ OnCalendar=Mon *-*-* 09:00:00 Europe/Berlin ; next_elapse=n/a }";
    const { timers } = read(timer("a", [CALENDAR, second]), service("a"));
    expect(timers[0]?.timing).toMatchObject({
      schedule: "*-*-* 06,18:00:00\nMon *-*-* 09:00:00 Europe/Berlin",
    });
  });

  test.each([
    ["1d", 86_400],
    ["1h 30min", 5_400],
    ["1w", 604_800],
    ["90.5s", 91],
  ])("that repeats after %s has a period of %i seconds", (span, periodSeconds) => {
    const repeated = `TimersMonotonic={ OnUnitInactiveUSec=${span} ; next_elapse=5min }`;
    expect(read(timer("a", [BOOT, repeated]), service("a")).timers[0]?.timing).toEqual({ periodSeconds });
  });

  test.each([
    ["boot", timer("a", [BOOT]), service("a")],
    ["often", timer("a", ["TimersMonotonic={ OnUnitActiveUSec=30s ; next_elapse=1s }"]), service("a")],
    [
      "schedule",
      timer("a", ["TimersMonotonic={ OnUnitActiveUSec=infinity ; next_elapse=1s }"]),
      service("a"),
    ],
    ["schedule", timer("a", ["TimersCalendar={ OnCalendar=never ; next_elapse=n/a }"]), service("a")],
    ["network", timer("a", [MONOTONIC]), service("a", ["PrivateNetwork=yes"])],
    ["active", timer("a", [MONOTONIC]), service("a", ["RemainAfterExit=yes"])],
    ["service", timer("a", [MONOTONIC]), "Id=a.service\nLoadState=not-found"],
    ["service", timer("a", [MONOTONIC]), ""],
  ])("is left out: %s", (why, ...units) => {
    expect(read(...units)).toEqual({ timers: [], reporting: [], leftOut: [{ timer: "a.timer", why }] });
  });

  test.each([
    "DropInPaths=/etc/systemd/system/a.service.d/10-x.conf /etc/systemd/system/a.service.d/50-overdue.conf",
    "ExecStopPost={ path=/bin/sh ; argv[]=/bin/sh -c curl https://hc-ping.com/0f3a4b5c ; ignore_errors=yes }",
  ])("whose service has %s already reports", (line) => {
    expect(read(timer("a", [MONOTONIC]), service("a", [line])).reporting).toEqual([
      { timer: "a.timer", service: "a.service" },
    ]);
  });
});

describe("the drop-in", () => {
  const url = "https://overdue.example.org/ping/U";
  const [, , start = "", end = ""] = dropInText(url).split("\n");
  const environment = { INVOCATION_ID: "0123456789abcdef0123456789abcdef" };
  /** As systemd runs it: the text in single quotes, with `$$` as `$`. curl prints its arguments. */
  const ran = (line: string, given: Record<string, string>) => {
    const script = /'(.*)'$/.exec(line)?.[1]?.replaceAll("$$", "$") ?? "";
    const curl = 'curl() { cat; for last; do :; done; echo "$last"; }; journalctl() { echo output; }; ';
    const { stdout } = spawnSync("/bin/sh", ["-c", curl + script], {
      env: { PATH: "/usr/bin:/bin", ...environment, ...given },
      encoding: "utf8",
      input: "",
    });
    return stdout;
  };
  const rid = "rid=01234567-89ab-cdef-0123-456789abcdef";

  test("sends the start within two seconds, and never fails the service", () => {
    expect(start).toMatch(/^ExecStartPre=-\+\/bin\/sh -c 'curl .* -m 2 /);
    expect(end).toMatch(/^ExecStopPost=-\+\/bin\/sh -c '/);
    expect(ran(start, {})).toBe(`${url}/start?${rid}\n`);
  });

  test.each([
    ["success", "exited", "0", "0"],
    ["exit-code", "exited", "3", "3"],
    ["timeout", "killed", "TERM", "fail"],
    ["oom-kill", "killed", "KILL", "fail"],
    ["watchdog", "dumped", "ABRT", "fail"],
    ["exec-condition", "exited", "1", "log"],
  ])("reports %s (%s %s) as %s", (result, code, status, reported) => {
    const text = ran(end, { SERVICE_RESULT: result, EXIT_CODE: code, EXIT_STATUS: status });
    expect(text).toBe(`result: ${result}, ${code} ${status}\noutput\n${url}/${reported}?${rid}\n`);
  });

  test("doubles percent signs, which systemd would replace", () => {
    expect(dropInText("https://example.org/%41")).toContain("/%%41/start");
  });
});
