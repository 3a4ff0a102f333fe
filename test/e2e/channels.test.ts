// The page of channels: a webhook is made, tried on a real receiver, edited, switched off and deleted; what it sent
// stands in its log, and what was given up can be sent again.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startNtfy } from "../receivers/kinds/ntfy.ts";
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
    await page.getByRole("button", { name: /^Webhook/ }).click();
    const form = page.getByRole("dialog", { name: "Add Webhook channel" });
    await form.getByLabel("Name").fill("Bridge");
    await form.getByLabel("URL when down").fill("ftp://nowhere");
    await button(form, "Create channel").click();
    await expectSeen(form.getByRole("alert"));
    await form.getByLabel("URL when down").fill(`${receiver.url}/down`);
    await form.getByText("More options").click();
    await form.getByLabel("Body when down").fill("$NAME is $STATUS");
    await button(form, "Create channel").click();
    const made = form.getByRole("region", { name: "Copy this now" });
    const secret = await (await expectSeen(made.locator("pre"))).textContent();
    expect(secret).toMatch(/^whsec_.{20,}/);
    const before = receiver.received.length;
    await button(form, "Send test notification").click();
    await expectSeen(form.getByText(/^Delivered \(HTTP 200\)/));
    await expectSoon(() => form.textContent()).toContain("thank you");
    expect(receiver.received.length).toBe(before + 1);
    await button(form, "Done").click();
    await expectGone(form);
    await expectSeen(page.getByText("Bridge", { exact: true }));
    expect(await page.content()).not.toContain(secret);
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

/** Presses Tab until an element with this text or name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const focused =
    "(document.activeElement.innerText || document.activeElement.labels?.[0]?.innerText || '').trim()";
  for (let press = 0; press < 60; press += 1) {
    if (((await page.evaluate<string>(focused)) ?? "").startsWith(name)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`no way to ${name} by the keyboard`);
}

test("ntfy is set up by the keyboard alone: found, previewed, created, and tested", async () => {
  const room = await openRoom(used);
  const { page, context, complaints } = room;
  const ntfy = await startNtfy();
  await room.go(`/projects/${room.project}/channels/`);
  await expectSeen(page.getByRole("searchbox", { name: "Search channel kinds" }));
  await page.keyboard.press("/");
  await page.keyboard.type("ntfy");
  await expectSoon(() => page.locator(".channels-tile").count()).toBe(1);
  await page.keyboard.press("Enter");
  const form = page.getByRole("dialog", { name: "Add ntfy channel" });
  await expectSeen(form.getByText("Subscribe to a topic."));
  expect(new URL(page.url()).search).toBe("?open=ntfy");
  expect(await accessibilityTrouble(page)).toEqual([]);
  await expectSeen(form.locator(".channels-message", { hasText: "Nightly backup is DOWN" }));

  await tabTo(page, "Topic");
  await page.keyboard.type("our-topic-7");
  await tabTo(page, "URL");
  await page.keyboard.press("Control+a");
  await page.keyboard.type(ntfy.url);
  await tabTo(page, "Priority ·");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("5");
  await tabTo(page, "Request");
  await page.keyboard.press("Enter");
  const request = form.locator(".channels-request pre");
  await expectSoon(() => request.textContent()).toContain(`POST ${ntfy.url}`);
  await expectSoon(() => request.textContent()).toContain('"priority": 5');
  expect(await request.textContent()).not.toContain("our-topic-7");
  await button(form, "Up").press("Enter");
  await expectSeen(form.locator(".channels-message", { hasText: "Nightly backup is UP" }));

  await tabTo(page, "Create channel");
  await page.keyboard.press("Enter");
  await expectSeen(form.getByText("Channel created", { exact: true }));
  await tabTo(page, "Send test notification");
  await page.keyboard.press("Enter");
  await expectSeen(form.getByText(/^Delivered \(HTTP 200\)/));
  await expectSoon(() => form.textContent()).toContain(`POST ${new URL(ntfy.url).host}`);
  await expectSoon(() => form.textContent()).toMatch(/1 attempt · in \d+/);
  await expectSoon(() => form.textContent()).toContain('"event":"message"');
  expect(ntfy.received.map(({ json }) => json["topic"])).toEqual(["our-topic-7"]);
  expect(await accessibilityTrouble(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await expectGone(form);
  expect(new URL(page.url()).search).toBe("");
  await expectSoon(() => page.evaluate("document.activeElement.type")).toBe("search");
  await expectSeen(page.getByRole("heading", { level: 1, name: "Your channel works" }));
  await expectSeen(page.getByText("1 connected"));
  expect(complaints).toEqual([]);
  await ntfy.close();
  await context.close();
});

test("a channel that is refused says why, leads to its settings, and asks for a test after they are saved", async () => {
  const room = await openRoom(used);
  const { page, context, complaints } = room;
  const gotify = await startReceiver(({ headers }) =>
    headers["x-gotify-key"] === "Aright"
      ? { answer: { status: 200, body: { id: 1 } } }
      : { answer: { status: 401, body: { error: "Unauthorized", errorCode: 401 } } },
  );
  await room.go(`/projects/${room.project}/channels/?open=gotify`);
  const form = page.getByRole("dialog", { name: "Add Gotify channel" });
  await form.getByLabel("URL").fill(gotify.url);
  await form.getByLabel("Token").fill("Awrong");
  await button(form, "Copy as code").click();
  await expectSoon(() => form.locator(".code").first().textContent()).toContain('"token": "Awrong"');
  await button(form, "Create channel").click();
  await button(form, "Send test notification").click();
  await expectSeen(form.getByText("Failed: Gotify rejected the token (HTTP 401)", { exact: true }));
  await button(form, "Edit settings").click();
  const edited = page.getByRole("dialog", { name: "Edit gotify" });
  await page.keyboard.press("Escape");
  await expectGone(edited);
  const row = page.getByRole("row", { name: /Gotify/ });
  await expectSeen(row.getByText("Failed: Gotify rejected the token (HTTP 401)"));
  await expectSeen(row.getByRole("img", { name: "Last 1 delivery: 1 failed" }));
  await button(row, "Edit settings gotify").click();
  await edited.getByLabel("Token").fill("Aright");
  await button(edited, "Save").click();
  await expectSeen(notice(page, "Channel saved. Send a test to check that it works."));
  await button(row, "Send test notification").click();
  await expectSeen(page.getByRole("dialog").getByText(/^Delivered \(HTTP 200\)/));
  expect(complaints).toEqual([]);
  await gotify.close();
  await context.close();
});

test("the gallery is filtered, a kind can be linked to, and one that an admin must enable says so", async () => {
  const room = await openRoom(used);
  const { page, context, complaints } = room;
  await room.go(`/projects/${room.project}/channels/?open=telegram`);
  const form = page.getByRole("dialog", { name: "Add Telegram channel" });
  await expectSeen(form.getByText(/OVERDUE_TELEGRAM_TOKEN/));
  expect(await button(form, "Create channel").isDisabled()).toBe(true);
  await page.keyboard.press("Escape");
  await expectGone(form);
  await expectSeen(page.locator(".channels-tile.is-off", { hasText: "TelegramNot enabled on this server" }));
  const tiles = page.locator(".channels-tile");
  const all = await tiles.count();
  await page.getByRole("button", { name: /^On-call \d/ }).click();
  expect(await tiles.count()).toBeLessThan(all);
  await expectSeen(tiles.filter({ hasText: "PagerDuty" }));
  await page.getByRole("searchbox").fill("no such service");
  await expectSeen(page.getByText(/^No matching kinds/));
  expect(await accessibilityTrouble(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await context.close();
});
