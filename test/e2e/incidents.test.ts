// Incidents: a failure opens one, which is acknowledged in the list, by a key and from the list of checks, has a
// timeline and notes, and is resolved.
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Receiver, startReceiver } from "../receivers/receiver.ts";
import { accessibilityTrouble } from "../support/browser.ts";
import { button, expectGone, expectSeen, expectSoon, openRoom, row, signal, undo } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite({ OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS: "true" });
let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver(() => ({ answer: { status: 200, body: "thank you" } }));
});
afterAll(() => receiver.close());

/** A project in which a job has reported a failure, and its channel was notified. */
async function withFailure() {
  const room = await openRoom(used);
  const { ask, project } = room;
  const { id } = await room.make("leaky job", { tags: "prod" });
  const config = { url_down: `${receiver.url}/down`, url_up: `${receiver.url}/up` };
  await ask("POST", `/projects/${project}/channels`, { kind: "webhook", name: "Pager", config, checks: "*" });
  await signal(used, id);
  await signal(used, id, "/fail");
  type List = { incidents: { number: number; state: string }[] };
  const states = async () =>
    (await ask<List>("GET", `/projects/${project}/incidents?state=all`)).incidents.map(({ state }) => state);
  await expectSoon(states).toEqual(["open"]);
  return { ...room, check: id, states };
}

test("an incident is acknowledged in the list, and undone", async () => {
  const { page, context, complaints, project, states, ...room } = await withFailure();
  await room.go(`/projects/${project}/incidents/`);
  await expectSeen(page.getByRole("heading", { level: 1, name: "1 incident needs attention" }));
  await expectSeen(page.getByRole("link", { name: "Incidents 1 open" }));
  expect(await accessibilityTrouble(page)).toEqual([]);
  await button(page, "Acknowledge: leaky job failed").click();
  await expectSeen(page.getByRole("heading", { level: 1, name: "1 incident in progress" }));
  await undo(page, "Acknowledged 1 incident");
  await expectSoon(states).toEqual(["open"]);
  await expectSeen(button(page, "Acknowledge: leaky job failed"));
  await page.keyboard.press("j");
  await page.keyboard.press("a");
  await expectSoon(states).toEqual(["acknowledged"]);
  await room.go(`/projects/${project}/incidents/?state=acknowledged`);
  await expectSoon(() => page.locator(".incident:not(.is-head)").count()).toBe(1);
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await expectSeen(page.getByRole("heading", { level: 1, name: "leaky job failed" }));
  expect(complaints).toEqual([]);
  await context.close();
});

test("the page of an incident has its timeline, takes notes, and resolves it", async () => {
  const { page, context, complaints, project, states, check, ...room } = await withFailure();
  await room.go(`/checks/${check}/details/`);
  await page.getByRole("link", { name: "Incident #1" }).click();
  await expectSeen(page.getByRole("heading", { level: 1, name: "leaky job failed" }));
  await expectSeen(page.getByText("leaky job reported a failure"));
  await expectSeen(page.getByText("Notified 1 channel"));
  await page.getByLabel("Add a note").fill("The disk is full.");
  await button(page, "Add note").click();
  await expectSeen(page.locator(".incident-notes li", { hasText: "The disk is full." }));
  expect(await accessibilityTrouble(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.locator("h1").click();
  await page.keyboard.press("a");
  await expectSoon(states).toEqual(["acknowledged"]);
  await expectSeen(button(page, "Undo acknowledgement"));
  await button(page, "Silence").click();
  await expectSeen(button(page.getByRole("dialog", { name: "New silence" }), "Silence 1 check"));
  await page.keyboard.press("Escape");
  await expectGone(page.getByRole("dialog"));
  await button(page, "Resolve").click();
  await button(page.getByRole("dialog", { name: "Resolve this incident?" }), "Resolve").click();
  await expectSoon(states).toEqual(["resolved"]);
  await expectSeen(page.getByText("None. The incident is resolved."));
  expect(await button(page, "Acknowledge").count()).toBe(0);
  await room.go(`/projects/${project}/incidents/`);
  await expectSeen(page.getByRole("heading", { level: 2, name: "Resolved today" }));
  expect(complaints).toEqual([]);
  await context.close();
});

test("the list of checks acknowledges the incidents of its checks", async () => {
  const { page, context, complaints, project, states, ...room } = await withFailure();
  await room.go(`/projects/${project}/checks/`);
  await row(page, "leaky job").hover();
  await button(row(page, "leaky job"), "Actions for leaky job").click();
  await page.getByRole("menuitem", { name: "Acknowledge" }).click();
  await expectSoon(states).toEqual(["acknowledged"]);
  await undo(page, "Acknowledged 1 incident");
  await expectSoon(states).toEqual(["open"]);
  await row(page, "leaky job").getByRole("checkbox").check();
  await button(page, "Acknowledge").click();
  await expectSoon(states).toEqual(["acknowledged"]);
  expect(complaints).toEqual([]);
  await context.close();
});

test("an incident that does not exist says so", async () => {
  const { page, context, project } = await openRoom(used);
  await page.goto(`${used.site.url}/projects/${project}/incidents/99/`);
  await expectSeen(page.getByText("Incident not found"));
  await context.close();
});
