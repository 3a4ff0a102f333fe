// Kinds whose receivers keep incidents: what opens one, what closes it, and how severe it is.
import { beforeEach, describe, expect, test } from "vitest";
import type { AlertMessage } from "../../../src/core/message.ts";
import type { IncidentReceiver } from "../../receivers/incidents.ts";
import { type Opened, useReceivers } from "../open-receiver.ts";
import {
  DISABLED,
  DOWN,
  GROUP_DOWN,
  GROUP_UP,
  GROUP_UPDATE,
  MERGED,
  NOTICE,
  REPEAT,
  TAKEN_BACK,
  TEST,
  TOLERATED,
  UP,
} from "../sample-messages.ts";

const open = useReceivers();

/** How problems, notices, tests and problems of low severity are called, where the receiver distinguishes them. */
const SEVERITIES: Readonly<
  Record<string, readonly [problem: string, notice: string, test: string, low: string]>
> = {
  opsgenie: ["P1", "P3", "P5", "P3"],
  victorops: ["CRITICAL", "WARNING", "INFO", "WARNING"],
  pagertree: ["", "", "", ""],
  spike: ["", "", "", ""],
  incidentio: ["critical", "warning", "info", "warning"],
  grafanairm: ["", "", "", ""],
  // Labels must not change while a problem lasts, and severities may.
  alertmanager: ["critical", "warning", "info", "critical"],
};

describe.each(Object.entries(SEVERITIES))("%s", (kind, [problem, notice, isTest, low]) => {
  let receiver: IncidentReceiver;
  let send: Opened["send"];
  beforeEach(async () => {
    ({ receiver, send } = await open<IncidentReceiver>(kind));
  });
  const severities = () => [...receiver.incidents.values()];

  test("opens one incident for a check, however often it is sent, and closes it", async () => {
    for (const message of [DOWN, DOWN, REPEAT]) expect(await send(message)).toMatchObject({ kind: "sent" });
    expect(severities()).toEqual([problem]);
    await send(UP);
    expect(severities()).toEqual([]);
  });

  test.each<[string, AlertMessage]>([
    ["recovered before a message was sent", MERGED],
    ["was never down", TAKEN_BACK],
  ])("has nothing left open when the check %s", async (_what, message) => {
    await send(DOWN);
    await send(message);
    expect(severities()).toEqual([]);
    expect(receiver.unmatched).toEqual([]);
  });

  test("keeps one incident for a group, beside that of a check", async () => {
    await send(DOWN);
    await send(GROUP_DOWN);
    await send(GROUP_UPDATE);
    expect(receiver.incidents.size).toBe(2);
    await send(GROUP_UP);
    expect(severities()).toEqual([problem]);
    expect(receiver.unmatched).toEqual([]);
  });

  test.each<[string, AlertMessage]>([
    ["notice", NOTICE],
    ["channel that was disabled", DISABLED],
  ])("opens one for a %s, which closes nothing and is not closed", async (_what, message) => {
    await send(DOWN);
    await send(message);
    await send(UP);
    expect(severities()).toEqual([notice]);
  });

  test("opens one of the lowest severity for a test, which is not that of a check", async () => {
    await send(DOWN);
    await send(TEST);
    expect(severities()).toEqual([problem, isTest]);
  });

  test("shows a problem of low severity", async () => {
    await send(TOLERATED);
    expect(severities()).toEqual([low]);
  });

  test("counts a closing request that names no open incident", async () => {
    await send(UP);
    expect(receiver.unmatched).toHaveLength(1);
  });
});
