// The response to dashboard requests while the database is unavailable, and how it is logged.
import { expect, test } from "vitest";
import { createLog, limitedWarning } from "../../lib/log.ts";
import { answerTo } from "./respond.ts";
import type { WebContext } from "./route.ts";

test("an outage of the database is answered 503 each time, and logged once a second", () => {
  const lines: string[] = [];
  const log = createLog({ level: "info", destination: { write: (line) => lines.push(line) } });
  const site = { name: "Overdue", url: "https://overdue.example.org" };
  const parts = { context: { site, log } as unknown as WebContext, warnAway: limitedWarning(log, () => 0) };
  const url = "/accounts/login/";
  for (let request = 0; request < 50; request += 1) {
    const error = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    expect(answerTo(error, { parts, isPage: false, url, name: "login" })).toMatchObject({ status: 503 });
  }
  expect(lines).toHaveLength(1);
});
