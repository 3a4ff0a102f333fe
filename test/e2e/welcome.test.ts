// The first run: the address is tried, a mail that cannot go out says why, and the first signal is seen when it
// comes; a mistake on the way is named.
import { expect, test } from "vitest";
import { button, expectGone, openRoom, expectSeen, expectSoon } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

/** A mail server that is not there. */
const used = useSite({ OVERDUE_SMTP_HOST: "127.0.0.1", OVERDUE_SMTP_PORT: "1", OVERDUE_SMTP_TLS: "none" });

async function openWelcome() {
  const room = await openRoom(used);
  // The page offers the project that was looked at last.
  await room.go(`/projects/${room.project}/checks/`);
  await room.go("/welcome/");
  return room;
}

test("the public address is tried, and lines for a proxy are there", async () => {
  const { page, context, complaints } = await openWelcome();
  await expectSeen(page.getByText("The server reached itself at"));
  await page.getByText("Using a reverse proxy?").click();
  expect(await (await expectSeen(page.getByLabel("Caddy", { exact: true }))).textContent()).toContain(
    "reverse_proxy 127.0.0.1:",
  );
  await page.getByRole("tab", { name: "nginx" }).click();
  expect(await (await expectSeen(page.getByLabel("nginx", { exact: true }))).textContent()).toContain(
    "proxy_set_header Host",
  );
  expect(complaints).toEqual([]);
  await context.close();
});

test("an email that cannot be sent shows the reason", async () => {
  const { page, context, complaints } = await openWelcome();
  await button(page, "Send test email").click();
  const outcome = await expectSeen(page.locator(".notice.is-bad"));
  expect(await outcome.textContent()).toContain("The email couldn't be sent");
  expect(complaints).toEqual([]);
  await context.close();
});

test("the first check is created, a mistyped ping is explained, and the correct one is shown", async () => {
  const { page, context, complaints } = await openWelcome();
  await page.getByLabel("Name").fill("nightly backup");
  await button(page, "Create check").click();
  const line = await (await expectSeen(page.getByLabel("Command that sends the first ping"))).textContent();
  const address = /https?:\S+$/.exec(line ?? "")?.[0] ?? "";
  const last = address.at(-1) === "0" ? "1" : "0";
  await fetch(address.slice(0, -1) + last);
  await expectSeen(page.locator(".waiting .notice.is-bad"));
  await fetch(address);
  await expectSeen(page.getByText("Ping received"));
  await page.getByRole("link", { name: "Open check" }).click();
  await page.waitForURL(/\/checks\/[^/]+\/details\//);
  expect(complaints).toEqual([]);
  await context.close();
});

test("an email channel for the owner is added with one click, and the step shows it", async () => {
  const room = await openWelcome();
  const { page, context, complaints } = room;
  const step = page.locator(".step", { has: page.getByRole("heading", { name: "Notification channel" }) });
  await (await expectSeen(step.getByRole("button", { name: /^Email .+@/ }))).click();
  await expectSeen(step.getByText(/^Notifications go to .+@/));
  const { channels } = await room.ask<{ channels: { kind: string; checkCount: number }[] }>(
    "GET",
    `/projects/${room.project}/channels`,
  );
  expect(channels.map(({ kind }) => kind)).toEqual(["email"]);
  expect(complaints).toEqual([]);
  await context.close();
});

test("a user who sees the first ping before any channel exists can add one there, too", async () => {
  const room = await openWelcome();
  const { page, context, complaints } = room;
  await page.getByLabel("Name").fill("nightly backup");
  await button(page, "Create check").click();
  const line = await (await expectSeen(page.getByLabel("Command that sends the first ping"))).textContent();
  await fetch(/https?:\S+$/.exec(line ?? "")?.[0] ?? "");
  await expectSeen(page.getByText("Monitoring has started, but no channel is connected."));
  await page.getByRole("button", { name: /^Email .+@/ }).click();
  await expectGone(page.getByText("Monitoring has started, but no channel is connected."));
  await expectGone(page.getByRole("link", { name: "Add channel" }));
  expect(complaints).toEqual([]);
  await context.close();
});

test("a disabled channel sends nothing, and the step says so", async () => {
  const room = await openWelcome();
  const { page, context, complaints } = room;
  const config = { url_down: "https://hooks.example.org/down" };
  const { channel } = await room.ask<{ channel: { id: string } }>(
    "POST",
    `/projects/${room.project}/channels`,
    { kind: "webhook", name: "ops", config },
  );
  await room.ask("PATCH", `/channels/${channel.id}`, { isEnabled: false });
  await room.go("/welcome/");
  const step = page.locator(".step", { has: page.getByRole("heading", { name: "Notification channel" }) });
  await expectSeen(step.getByText("ops can't send notifications yet"));
  expect(await step.locator(".step-mark").textContent()).toContain("needs attention");
  await expectSeen(step.getByRole("link", { name: "View channels" }));
  await room.ask("PATCH", `/channels/${channel.id}`, { isEnabled: true });
  await room.go("/welcome/");
  await expectSeen(step.getByText("Notifications go to ops."));
  expect(await step.locator(".step-mark").textContent()).toContain("done");
  expect(complaints).toEqual([]);
  await context.close();
});

test("another channel leads to the gallery, and the step can be skipped", async () => {
  const { page, context } = await openWelcome();
  await expectSeen(page.getByText("You can do this later. Until then, no notifications are sent."));
  await page.getByRole("link", { name: "Add another channel" }).click();
  await expectSeen(page.getByRole("heading", { name: "Add a channel" }));
  await expectSoon(() => page.evaluate("document.activeElement.type")).toBe("search");
  await context.close();
});
