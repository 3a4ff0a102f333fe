// The page of channels: a webhook is made, tried on a real receiver, edited, switched off and deleted; what it sent
// stands in its log, and what was given up can be sent again.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Receiver, startReceiver } from "../receivers/receiver.ts";
import { accessibilityTrouble } from "../support/browser.ts";
import {
  button,
  expectGone,
  notice,
  openRoom,
  type Room,
  expectSeen,
  signal,
  expectSoon,
} from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite({ OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS: "true" });
let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver(() => ({ answer: { status: 200, body: "thank you" } }));
});
afterAll(() => receiver.close());

/** A project that has one webhook to the receiver, and its page of channels. */
async function withWebhook(name: string): Promise<Room> {
  const room = await openRoom(used);
  receiver.behave({ kind: "judge" });
  const config = { url_down: `${receiver.url}/down`, body_down: "$NAME is $STATUS", url_up: "" };
  await room.ask("POST", `/projects/${room.project}/channels`, {
    kind: "webhook",
    name,
    config,
    checks: "*",
  });
  await room.go(`/projects/${room.project}/channels/`);
  await expectSeen(room.page.getByText(name, { exact: true }));
  return room;
}

test("the checks of a channel are chosen at the channel", async () => {
  const room = await withWebhook("Pager");
  const { page, context, complaints } = room;
  const { id } = await room.make("nightly job");
  await room.make("hourly job");
  await room.go(`/projects/${room.project}/channels/`);
  await button(page, "Pager notifies for 2 checks. Choose checks").click();
  const window = page.getByRole("dialog", { name: "Checks for Pager" });
  const nightly = window.getByRole("switch", { name: "nightly job" });
  await expectSoon(() => nightly.isChecked()).toBe(true);
  expect(await accessibilityTrouble(page)).toEqual([]);
  const told = async () =>
    (await room.ask<{ channels: { isOn: boolean }[] }>("GET", `/checks/${id}`)).channels.map(
      ({ isOn }) => isOn,
    );
  await nightly.click();
  await expectSoon(() => nightly.isChecked()).toBe(false);
  expect(await told()).toEqual([false]);
  await expectSeen(window.getByText("1 of 2 checks"));
  await nightly.click();
  await expectSoon(() => nightly.isChecked()).toBe(true);
  expect(await told()).toEqual([true]);
  await window.getByLabel("Find a check").fill("night");
  await expectSoon(() => window.getByRole("switch").count()).toBe(1);
  await button(window, "Select none").click();
  await expectSeen(window.getByText("0 of 1 check"));
  await window.getByLabel("Find a check").fill("");
  await expectSeen(window.getByText("1 of 2 checks"));
  await page.keyboard.press("Escape");
  await expectSeen(button(page, "Pager notifies for 1 check. Choose checks"));
  expect(complaints).toEqual([]);
  await context.close();
});

describe("a webhook", () => {
  test("is created in a form, its secret is shown once, and the test shows the response of the receiver", async () => {
    const room = await openRoom(used);
    const { page, context, complaints } = room;
    receiver.behave({ kind: "judge" });
    await room.go(`/projects/${room.project}/channels/`);
    await expectSeen(page.getByRole("heading", { level: 1, name: "No channels yet" }));
    await button(page, "Add channel").first().click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /^Webhook/ })
      .click();
    const form = page.getByRole("dialog");
    await form.getByLabel("Name").fill("Bridge");
    await form.getByLabel("URL when down").fill("ftp://nowhere");
    await button(form, "Create").click();
    await expectSeen(form.getByRole("alert"));
    await form.getByLabel("URL when down").fill(`${receiver.url}/down`);
    await form.getByText(/^More options:/).click();
    await form.getByLabel("Body when down").fill("$NAME is $STATUS");
    await button(form, "Create").click();
    const made = page.getByRole("dialog", { name: "Copy this now" });
    const secret = await (await expectSeen(made.locator("pre"))).textContent();
    expect(secret).toMatch(/^whsec_.{20,}/);
    await button(made, "I've copied it").click();
    await expectGone(made);
    await expectSeen(page.getByText("Bridge", { exact: true }));
    expect(await page.content()).not.toContain(secret);
    const before = receiver.received.length;
    await button(page, "Send test notification").click();
    const tried = page.getByRole("dialog", { name: "Test notification" });
    await expectSeen(tried.getByText(/^Delivered \(HTTP 200\)/));
    await expectSoon(() => tried.textContent()).toContain("thank you");
    expect(receiver.received.length).toBe(before + 1);
    expect(receiver.received.at(-1)?.headers["webhook-signature"]).toMatch(/^v1,/);
    // The refusal of the wrong address is one that the browser notes by itself.
    expect(complaints.filter((one) => !one.startsWith("400 "))).toEqual([]);
    await context.close();
  });

  test("keeps its secrets when its name is edited", async () => {
    const { page, context } = await withWebhook("Old name");
    await button(page.getByRole("row", { name: /Old name/ }), "More").click();
    await page.getByRole("menuitem", { name: "Edit" }).click();
    const form = page.getByRole("dialog", { name: "Edit Old name" });
    await form.getByLabel("Name").fill("New name");
    await button(form, "Save").click();
    await expectSeen(page.getByText("New name", { exact: true }));
    const before = receiver.received.length;
    await button(page, "Send test notification").click();
    await expectSeen(page.getByRole("dialog").getByText(/^Delivered \(HTTP 200\)/));
    expect(receiver.received.slice(before).map(({ path }) => path)).toEqual(["/down"]);
    await context.close();
  });

  test("is switched off and on again from its menu", async () => {
    const { page, context } = await withWebhook("Switch");
    const turn = async (word: string) => {
      await button(page.getByRole("row", { name: /Switch/ }), "More").click();
      await page.getByRole("menuitem", { name: word }).click();
    };
    await turn("Disable");
    await expectSeen(page.getByText(/^Disabled by its owner/));
    await expectSoon(() => page.title()).toContain("1 channel needs attention");
    await turn("Enable");
    await expectGone(page.getByText(/^Disabled by its owner/));
    await context.close();
  });

  test("is notified when a check goes down, and the log has the request and the response", async () => {
    const room = await withWebhook("Told");
    const { page, context } = room;
    const { id } = await room.make("leaky job");
    const before = receiver.received.length;
    await signal(used, id);
    await signal(used, id, "/fail");
    await expectSoon(() => receiver.received.slice(before).map(({ body }) => body)).toContain(
      "leaky job is down",
    );
    await room.go(`/projects/${room.project}/channels/`);
    await button(page, "Deliveries").click();
    const log = page.getByRole("dialog", { name: "Deliveries: Told" });
    const line = log.getByRole("button", { name: /(down|up), leaky job/ });
    await (await expectSeen(line)).click();
    await expectSoon(() => log.textContent()).toContain("thank you");
    await context.close();
  });

  test("that was refused for good can be tried again from the log", async () => {
    const { page, context } = await withWebhook("Refused");
    receiver.behave({ kind: "answer", answer: { status: 410, body: "no longer here" } });
    await button(page, "Send test notification").click();
    await expectSoon(() => page.getByRole("dialog").textContent()).toContain("410");
    await button(page.getByRole("dialog"), "Close").first().click();
    await button(page, "Deliveries").click();
    const log = page.getByRole("dialog", { name: "Deliveries: Refused" });
    await (await expectSeen(log.locator(".channels-line"))).click();
    receiver.behave({ kind: "judge" });
    await button(log, "Try again").click();
    await expectSeen(notice(page, "Queued for another attempt."));
    await expectSoon(() => receiver.received.at(-1)?.path).toBe("/down");
    await context.close();
  });

  test("is deleted after a question", async () => {
    const { page, context } = await withWebhook("Doomed");
    await button(page.getByRole("row", { name: /Doomed/ }), "More").click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    const question = page.getByRole("dialog", { name: "Delete Doomed?" });
    await button(question, "Delete").click();
    await expectSeen(notice(page, "Channel deleted."));
    await expectGone(page.getByText("Doomed", { exact: true }));
    await context.close();
  });
});

test("an email channel without a mail server shows that in its row, and names the setting", async () => {
  const room = await openRoom(used);
  const { page, context, complaints } = room;
  await room.ask("POST", `/projects/${room.project}/channels`, {
    kind: "email",
    name: "Postbox",
    config: { value: "ops@example.org" },
    checks: "*",
  });
  await room.go(`/projects/${room.project}/channels/`);
  const row = page.getByRole("row", { name: /Postbox/ });
  await expectSeen(row.getByText(/^This server cannot send email.*OVERDUE_SMTP_HOST/));
  await expectSoon(() => page.title()).toContain("1 channel needs attention");
  expect(complaints).toEqual([]);
  await context.close();
});
