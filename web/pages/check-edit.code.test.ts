// curl commands for the values on screen.
import { expect, test } from "vitest";
import type { CheckPage } from "../../src/contract/api/check-page.ts";
import { changeLine, codeFor } from "./check-edit.tsx";

const SITE = "https://overdue.example/sub";

test("a change uses the names of the API, and only the active one of period and schedule", () => {
  const line = changeLine({ kind: "cron", schedule: "0 4 * * *", tz: "UTC" }, { id: "u", siteUrl: SITE });
  expect(line).toContain(`${SITE}/api/v3/checks/u`);
  expect(line).toContain('"schedule": "0 4 * * *"');
  expect(line).not.toContain("kind");
});

test("a quote in a name does not end the line", () => {
  const line = changeLine({ name: "it's $HOME `x`" }, { id: "u", siteUrl: SITE });
  expect(line).toMatch(/-d '\{\n {2}"name": "it'\\''s \$HOME `x`"\n\}'$/);
});

test("a check like this one leaves out default values", () => {
  const page = {
    row: { id: "u" },
    settings: {
      name: "job",
      kind: "simple",
      timeoutSeconds: 60,
      schedule: "* * * * *",
      desc: "",
      filterBody: false,
    },
    channels: [
      { id: "a", isOn: true },
      { id: "b", isOn: false },
    ],
  } as unknown as CheckPage;
  const { create } = codeFor(page, SITE);
  expect(JSON.parse(/-d '([^]*)'$/.exec(create)?.[1] ?? "")).toEqual({
    name: "job",
    timeout: 60,
    channels: "a",
  });
});
