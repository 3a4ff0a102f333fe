import { expect, test } from "vitest";
import { DEFAULT_SETTINGS } from "./check.ts";
import { exportChecks, withKnownChannels } from "./export.ts";

const named = (name: string, slug = "") => ({ ...DEFAULT_SETTINGS, name, slug });

test("checks are exported with a period or a schedule, and found by slug or name", () => {
  const { checks, notes } = exportChecks([
    { settings: named("A", "a"), channelNames: ["Ops", "Ops", ""] },
    { settings: { ...named("B"), kind: "cron", schedule: "0 5 * * *", tz: "Europe/Riga" }, channelNames: [] },
    { settings: named(""), channelNames: [] },
  ]);
  expect(checks).toMatchObject([
    { name: "A", timeout: 86_400, channels: "Ops", unique: ["slug"] },
    { schedule: "0 5 * * *", tz: "Europe/Riga", channels: "", unique: ["name"] },
    { unique: [] },
  ]);
  expect(checks[0]).not.toHaveProperty("schedule");
  expect(checks[1]).not.toHaveProperty("timeout");
  expect(notes).toHaveLength(2);
});

test("checks that share a slug are found by name", () => {
  const { checks } = exportChecks(
    ["A", "B"].map((name) => ({ settings: named(name, "same"), channelNames: [] })),
  );
  expect(checks.map(({ unique }) => unique)).toEqual([["name"], ["name"]]);
});

test("channels that the other installation does not have once are left out", () => {
  const [check] = exportChecks([{ settings: named("A"), channelNames: ["Ops", "Two", "None"] }]).checks;
  if (check === undefined) throw new Error("nothing was exported");
  const { check: sent, missing } = withKnownChannels(check, ["Ops", "Two", "Two"]);
  expect([sent.channels, missing]).toEqual(["Ops", ["Two", "None"]]);
});
