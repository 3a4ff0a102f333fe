// A real Alertmanager takes what its kind sends: one alert for a check, which lasts until the check is up.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../src/core/instant.ts";
import type { AlertMessage } from "../../../src/core/message.ts";
import { type GuardedHttp, guardedHttp } from "../../../src/lib/outgoing-http.ts";
import {
  isAlertmanagerInstalled,
  type RealAlertmanager,
  startAlertmanager,
  WHY_SKIPPED,
} from "../../support/alertmanager.ts";
import { DEDUPE_KEY, sampleChannel, sampleSender } from "../sample-kinds.ts";
import { ALL, CHECK, DOWN, NOTICE, TEST, UP } from "../sample-messages.ts";

/** Its clock is real, unlike that of the sample messages. */
const NOW = Date.now();
const down = { ...DOWN, at: NOW - 2 * MINUTE_MS, since: NOW - 3 * MINUTE_MS };
const up = { ...UP, at: NOW - MINUTE_MS, since: NOW - MINUTE_MS };

describe.skipIf(!isAlertmanagerInstalled)(`with a real Alertmanager${WHY_SKIPPED}`, () => {
  let server: RealAlertmanager;
  let http: GuardedHttp;
  beforeAll(async () => {
    server = await startAlertmanager();
    http = guardedHttp({ allowPrivate: true, userAgent: "Overdue" });
  });
  afterAll(async () => {
    await http.close();
    await server.stop();
  });

  const send = (message: AlertMessage) =>
    sampleSender({ http }).send(
      sampleChannel("alertmanager", { url: server.url, labels: "team=ops" }),
      message,
      { dedupeKey: DEDUPE_KEY, attempt: 1, now: NOW },
    );
  const lasting = async () =>
    (await server.alerts()).map(({ labels, startsAt, endsAt }) => ({
      name: labels["alertname"],
      startsAt: Date.parse(startsAt),
      hours: Math.round((Date.parse(endsAt) - NOW) / HOUR_MS),
    }));

  test("a check that is down is one alert, which a reminder extends and a new name does not double", async () => {
    for (const message of [
      down,
      { ...down, at: NOW, isRepeat: true },
      {
        ...down,
        severity: "low" as const,
        check: { ...CHECK, settings: { ...CHECK.settings, name: "new" } },
      },
    ]) {
      expect(await send(message)).toMatchObject({ kind: "sent", code: 200 });
    }
    const startsAt = Math.floor(down.since / 1_000) * 1_000;
    expect(await lasting()).toEqual([
      { name: "OverdueCheckDown", startsAt, hours: (365 * DAY_MS) / HOUR_MS },
    ]);
    const [alert] = await server.alerts();
    expect(alert?.labels).toMatchObject({ team: "ops", severity: "critical" });
    expect(alert?.annotations["summary"]).toBe("new is DOWN");
  });

  test("a check that is up ends its alert, and only its own; it can go down again", async () => {
    expect(await send({ ...NOTICE, at: NOW })).toMatchObject({ kind: "sent" });
    expect(await send(up)).toMatchObject({ kind: "sent" });
    expect(await lasting()).toMatchObject([{ name: "OverdueNotice", hours: 1 }]);
    expect(await send({ ...down, at: NOW, since: NOW })).toMatchObject({ kind: "sent" });
    expect(new Set((await lasting()).map(({ name }) => name))).toEqual(
      new Set(["OverdueCheckDown", "OverdueNotice"]),
    );
    expect(await send({ ...up, at: Date.now() })).toMatchObject({ kind: "sent" });
    await expect.poll(lasting).toMatchObject([{ name: "OverdueNotice" }]);
  });

  test.each(Object.entries({ ...ALL, test: { ...TEST, at: NOW } }))(
    "the message is accepted: %s",
    async (_name, message) => {
      expect(await send(message)).toMatchObject({ kind: "sent", code: 200 });
    },
  );
});
