import { describe, expect, test } from "vitest";
import { readPingSettings } from "./ping-settings.ts";

function read(settings: Record<string, string>) {
  return readPingSettings(Object.entries(settings));
}

describe("the settings of a ping", () => {
  test("are those of the check and of its policy", () => {
    const given = {
      create: "1",
      rid: "x",
      name: "Nightly backup",
      tags: "prod db",
      desc: "Runbook:\nhttps://wiki.example.org",
      schedule: "30 2 * * *",
      tz: "Europe/Riga",
      grace: "10m",
      start_within: "5m",
      max_run: "6h",
      min_run: "1",
      early: "0",
    };
    expect(read(given)).toEqual({
      params: {
        name: "Nightly backup",
        tags: "prod db",
        desc: "Runbook:\nhttps://wiki.example.org",
        schedule: "30 2 * * *",
        tz: "Europe/Riga",
        graceSeconds: 600,
      },
      policy: { startWithin: 300, maxRun: 21_600, minRun: 1, early: 0 },
      warning: null,
    });
  });

  test.each([
    ["timeout", "60", 60],
    ["timeout", "2d", 172_800],
    ["timeout", "31536000", 31_536_000],
    ["timeout", "1h30m", 5_400],
  ])("%s=%s is %i seconds", (name, value, timeoutSeconds) => {
    expect(read({ [name]: value })).toEqual({ params: { timeoutSeconds }, policy: {}, warning: null });
  });

  test.each([
    [{ timeout: "59" }, "timeout is not in the range of 1 minute to 365 days"],
    [{ timeout: "1w" }, "timeout is not a duration such as 3600 or 1h"],
    [{ timeout: "" }, "timeout is not a duration such as 3600 or 1h"],
    [{ timeout: "-60" }, "timeout is not a duration such as 3600 or 1h"],
    [{ grace: "99999999999" }, "grace is not a duration such as 3600 or 1h"],
    [{ max_run: "1" }, "max_run is neither 0 nor 1 minute to 30 days"],
    [{ min_run: "0" }, "min_run is not in the range of 1 second to 1 day"],
    [{ schedule: "* * * *" }, "schedule is not a valid cron or OnCalendar expression"],
    [{ schedule: "*".repeat(101) }, "schedule is longer than 100 characters"],
    [{ schedule: "" }, "schedule is not a valid cron or OnCalendar expression"],
    [{ tz: "Mars/Olympus" }, "tz is not a valid timezone"],
    [{ name: "n".repeat(101) }, "name is longer than 100 characters"],
    [{ name: "a\0b" }, "name contains a character that cannot be stored"],
    [{ channels: "*" }, "channels cannot be set by a ping"],
    [{ keep_alive: "60" }, "keep_alive is not supported"],
    [{ start_within: "2h" }, "start_within is longer than grace, which requires max_run"],
  ])("%j is ignored with a warning", (settings, problem) => {
    expect(read(settings)).toEqual({
      params: {},
      policy: {},
      warning: `Ignored settings: ${problem}.`,
    });
  });

  test("that are valid are used beside those that are not", () => {
    expect(read({ name: "a", schedule: "x", grace: "2m", channels: "" })).toEqual({
      params: { name: "a", graceSeconds: 120 },
      policy: {},
      warning:
        "Ignored settings: schedule is not a valid cron or OnCalendar expression; channels cannot be set by a ping.",
    });
  });

  test("are not given by empty texts and unknown names", () => {
    const nothing = { params: {}, policy: {}, warning: null };
    expect(read({ name: "", tags: "", desc: "", unknown: "x", __proto__: "x", constructor: "x" })).toEqual(
      nothing,
    );
    expect(read({ max_run: "0", start_within: "2h" })).toMatchObject({
      policy: { maxRun: 0, startWithin: 7_200 },
    });
  });
});
