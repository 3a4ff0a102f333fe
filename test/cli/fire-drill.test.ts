// `overdue fire-drill` against a running server: the steps and the channels are shown, and the exit code says whether
// the channels work. The sweeper and the notifier are driven here, because those of a server wait for a minute.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type GuardedHttp, guardedHttp } from "../../src/lib/outgoing-http.ts";
import { driveFireDrills } from "../../src/operations/fire-drills.ts";
import { deliverDue } from "../../src/operations/send-loop.ts";
import { sweepDeadlines } from "../../src/operations/sweep.ts";
import { sampleSender } from "../channels/sample-kinds.ts";
import { newCheck } from "../management/asking.ts";
import { useCast } from "../management/cast.ts";
import { addChannel } from "../support/owed.ts";
import { sightUntil } from "../support/sweeping.ts";
import { callOverdue, type Ended } from "./run-overdue.ts";

const cast = useCast();
const WEBHOOK = { url_down: "https://hooks.example.org/down", url_up: "" };
let http: GuardedHttp;

beforeAll(() => {
  http = guardedHttp({ allowPrivate: false, userAgent: "Overdue" });
});
afterAll(() => http.close());
beforeEach(async () => {
  await cast.db.pool.query("delete from fire_drills");
  await cast.db.pool.query("delete from channels");
});

const settings = () => ({ OVERDUE_SITE_URL: cast.site, OVERDUE_API_KEY: cast.owner.rw });
const addWebhook = () => addChannel(cast.db, { projectId: cast.owner.project.id, config: WEBHOOK });

/** Runs the command, and the loops of a server until it has ended. */
async function fireDrill(...args: string[]): Promise<Ended> {
  const progress = { isEnded: false };
  const running = callOverdue(["fire-drill", ...args], settings()).finally(() => {
    progress.isEnded = true;
  });
  const ports = sampleSender({ http });
  while (!progress.isEnded) {
    const now = await cast.now();
    await sweepDeadlines(cast.db, { now, visibility: sightUntil(now) });
    await deliverDue(cast.db, { now, ports });
    await driveFireDrills(cast.db, now);
  }
  return running;
}

describe("a fire drill", () => {
  test("shows its steps, each channel, and how long it took", async () => {
    await addWebhook();
    const { code, out, err } = await fireDrill();
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(
        /^0 ms {2}deadline missed\n\d+ ms {2}found by the sweeper\n\d+ ms {2}alert written\n\d+ ms {2}notifications planned\n\d+ ms {2}claimed by the notifier\n\d+ ms {2}messages rendered\n$/,
      ),
    ]);
    expect(out).toMatch(/^webhook: Not sent \(fire drill\)\n\d+ ms from missed deadline to 1 channel\.\n$/);
  });

  test("of a check is a JSON document", async () => {
    await addWebhook();
    const { uuid } = await newCheck(cast, { name: "Nightly backup" });
    const { code, out, err } = await fireDrill("--check", uuid, "--json");
    // The channel is not assigned to it.
    expect([code, err]).toEqual([1, ""]);
    const shown = JSON.parse(out) as Record<string, unknown>;
    expect(shown).toMatchObject({
      check: { id: uuid, name: "Nightly backup" },
      is_sent: false,
      hops: expect.arrayContaining([{ name: "deadline", at: expect.stringMatching(/^\d{4}-.*Z$/) }]),
      recipients: [expect.objectContaining({ outcome: "skipped", reason: "Not assigned to this check" })],
    });
  });

  test("that notifies nobody has the exit code 1", async () => {
    const { code, out } = await fireDrill();
    expect([code, out]).toEqual([1, "No channel would be notified.\n"]);
  });
});

test("an API key cannot send, and a wrong check is an error", async () => {
  const sending = await callOverdue(["fire-drill", "--send"], settings());
  expect([sending.code, sending.out]).toEqual([1, ""]);
  expect(sending.err).not.toBe("");
  const wrong = await callOverdue(["fire-drill", "--check", "nightly"], settings());
  expect(wrong.code).toBe(2);
  const unknown = "f618072a-7bde-4eee-af63-71a77c5723bc";
  const { code, err } = await callOverdue(["fire-drill", "--check", unknown], settings());
  expect([code, err]).toEqual([1, expect.stringContaining(`The project has no check ${unknown}.`)]);
});
