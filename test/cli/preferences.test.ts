// What a person is mailed besides alerts, set through the real program.
import { beforeAll, describe, expect, test, vi } from "vitest";
import { callOverdue, useDurablePostgres } from "./run-overdue.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const postgres = useDurablePostgres();
let environment: Record<string, string> = {};

beforeAll(async () => {
  environment = { OVERDUE_DATABASE_URL: await postgres.newDatabase() };
  await callOverdue(["migrate"], environment);
  await callOverdue(["admin", "create-account", "--email", "ann@example.org"], environment);
});

const set = (...options: string[]) => callOverdue(["admin", "set-preferences", ...options], environment);

describe("overdue admin set-preferences", () => {
  test("prints the preferences, changes the given ones, and keeps the rest", async () => {
    expect((await set()).out).toBe(
      "ann@example.org: reports monthly, reminders off, time zone from browser, UTC in email.\n",
    );
    const changed = await set(
      "--account",
      "ann@example.org",
      "--reports",
      "weekly",
      "--time-zone",
      "Europe/Riga",
      "--json",
    );
    expect(changed.code).toBe(0);
    expect(JSON.parse(changed.out)).toEqual({
      account: "ann@example.org",
      reports: "weekly",
      reminders: "off",
      time_zone: "Europe/Riga",
    });
    expect((await set("--reminders", "hourly")).out).toBe(
      "ann@example.org: reports weekly, reminders hourly, time zone Europe/Riga.\n",
    );
    const browser = await set("--time-zone", "browser", "--json");
    expect(JSON.parse(browser.out)).toMatchObject({ reports: "weekly", time_zone: null });
  });

  test.each([
    [["--reports", "yearly"], "Allowed choices are off, daily, weekly, monthly"],
    [["--reminders", "weekly"], "Allowed choices are off, hourly, daily"],
    [["--time-zone", "Riga"], "is not a valid time zone"],
    [["--account", "bob@example.org"], "No account found for bob@example.org"],
  ])("refuses %j in words", async (options, words) => {
    const { code, err } = await set(...options);
    expect(code).toBeGreaterThan(0);
    expect(err).toContain(words);
  });
});
