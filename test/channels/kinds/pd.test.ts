// PagerDuty: what opens and resolves an incident.
import { beforeEach, describe, expect, test } from "vitest";
import { type PagerDutyReceiver, startPagerDuty } from "../../receivers/kinds/pd.ts";
import { type Opened, useReceivers } from "../open-receiver.ts";
import { CONFIGS } from "../sample-kinds.ts";
import { DOWN, MERGED, NOTICE, TAKEN_BACK, UP } from "../sample-messages.ts";

const open = useReceivers();

describe("PagerDuty", () => {
  let pagerDuty: PagerDutyReceiver;
  let send: Opened["send"];

  beforeEach(async () => {
    ({ receiver: pagerDuty, send } = await open("pd", { started: startPagerDuty() }));
  });

  test("opens one incident for a check, however often it is notified, and resolves it", async () => {
    await send(DOWN);
    await send(DOWN, { attempt: 2 });
    expect([...pagerDuty.incidents.values()]).toEqual(["critical"]);
    await send(UP);
    expect(pagerDuty.incidents.size).toBe(0);
  });

  test.each([
    ["recovered before anybody was told", MERGED],
    ["was never down", TAKEN_BACK],
  ])("has nothing left open when the check %s", async (_what, message) => {
    await send(DOWN);
    await send(message);
    expect(pagerDuty.incidents.size).toBe(0);
  });

  test("is warned by a notice, which resolves nothing", async () => {
    await send(DOWN);
    await send(NOTICE);
    expect([...pagerDuty.incidents.values()]).toEqual(["critical", "warning"]);
  });

  test("is called where the account is kept", async () => {
    const urls: string[] = [];
    const http = {
      send: async ({ url }: { url: string }) => {
        urls.push(url);
        return { status: 202, headers: {}, text: "" };
      },
    };
    const elsewhere = await open("pd", { http });
    await elsewhere.send(DOWN, { config: { ...CONFIGS["pd"], region: "eu" } });
    expect(urls).toEqual(["https://events.eu.pagerduty.com/v2/enqueue"]);
  });
});
