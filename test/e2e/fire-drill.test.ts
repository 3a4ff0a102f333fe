// Fire drills: one is started, its steps arrive, and its result is kept; a weekly one is set, undone and turned off.
// In the first minute after a start of the server no deadline fires, so the first result may take a minute.
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Receiver, startReceiver } from "../receivers/receiver.ts";
import { accessibilityTrouble } from "../support/browser.ts";
import { button, expectSeen, expectSoon, openRoom, type Room, undo } from "./at-the-screen.ts";
import { type OpenOptions, useSite } from "./use-site.ts";

const used = useSite({ OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS: "true" });
let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver(() => ({ answer: { status: 200 } }));
});
afterAll(() => receiver.close());

/** A project with a check and two webhooks, of which one is not assigned to the check. */
async function withWebhooks(options: OpenOptions = {}): Promise<Room & { path: string }> {
  const room = await openRoom(used, options);
  const path = `/${room.project}`;
  const addWebhook = (name: string, checks: string | string[]) =>
    room.ask("POST", `/projects/${room.project}/channels`, {
      kind: "webhook",
      name,
      config: { url_down: `${receiver.url}${path}/$STATUS`, url_up: `${receiver.url}${path}/$STATUS` },
      checks,
    });
  const { id } = await room.make("Nightly backup");
  await addWebhook("Bridge", [id]);
  await addWebhook("Spare", []);
  return { ...room, path };
}

const title = ({ page }: Room, name: string) => page.getByRole("heading", { level: 1, name, exact: true });
const receivedAt = (path: string) =>
  receiver.received.filter((one) => one.path.startsWith(path)).map((one) => one.path);

test("a drill shows its steps and a rendered message, sends nothing, and stays in the history", async () => {
  const room = await withWebhooks();
  const { page, context, complaints, project, path } = room;
  await room.go(`/projects/${project}/channels/`);
  await page.getByRole("link", { name: "Fire drill", exact: true }).click();
  await expectSeen(title(room, "Fire drill"));
  await expectSeen(page.getByText("No fire drills yet"));
  expect(await accessibilityTrouble(page)).toEqual([]);

  const simulated = page.getByLabel("As if this went down").first();
  await expectSoon(() => simulated.locator("option").allTextContents()).toContain("Nightly backup");
  await simulated.selectOption("Nightly backup");
  await button(page, "Start fire drill").click();
  await expectSeen(title(room, "All channels work"));
  const result = page.getByRole("region", { name: "Steps" });
  await expectSeen(result.getByText(/from missed deadline to 1 channel/));
  await result.getByText("Show as table").click();
  const steps = await result.getByRole("rowheader").allTextContents();
  expect(steps).toEqual([
    "Deadline missed",
    "Found by the sweeper",
    "Alert written",
    "Notifications planned",
    "Claimed by the notifier",
    "Messages rendered",
  ]);
  const channels = result.getByRole("list", { name: "Channels" });
  await expectSeen(channels.getByText("Would be notified. Not sent (fire drill)"));
  await expectSeen(channels.getByText("Not assigned to this check"));
  await channels.getByText("Preview").click();
  await expectSeen(channels.getByText(/^\[Fire drill\] Nightly backup/));
  await expectSoon(() => channels.locator("pre").first().textContent()).toMatch(/^(?:GET|POST) /);
  expect(receivedAt(path)).toEqual([]);
  expect(await accessibilityTrouble(page)).toEqual([]);

  const history = page.getByRole("list", { name: "Earlier fire drills" });
  await expectSeen(
    history.getByRole("button", { name: /Nightly backup.*from missed deadline to 1 channel/ }),
  );
  await room.go(`/projects/${project}/channels/`);
  await expectSeen(page.getByText(/Last fire drill: .* from missed deadline to 1 channel/));
  expect(complaints).toEqual([]);
  await context.close();
});

test("a drill that sends asks first, and closes the problem again", async () => {
  const room = await withWebhooks({ theme: "dark" });
  const { page, context, complaints, project, path } = room;
  await room.go(`/projects/${project}/fire-drill/`);
  await expectSeen(title(room, "Fire drill"));
  await page.getByRole("switch", { name: "Send the messages" }).first().click();
  await button(page, "Start fire drill").click();
  const dialog = page.getByRole("dialog", { name: "Send fire drill messages?" });
  await expectSeen(dialog);
  expect(receivedAt(path)).toEqual([]);
  expect(await accessibilityTrouble(page)).toEqual([]);
  await button(dialog, "Send the messages").click();
  await expectSeen(title(room, "All channels work"));
  await expectSeen(page.getByText(/from missed deadline to 2 channels/));
  expect(receivedAt(path).toSorted()).toEqual([`${path}/down`, `${path}/down`, `${path}/up`, `${path}/up`]);
  const channels = page.getByRole("list", { name: "Channels" });
  await expectSoon(() => channels.getByText("closed again").count()).toBe(2);
  expect(await accessibilityTrouble(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await context.close();
});

test("a weekly drill is set, undone and turned off", async () => {
  const room = await withWebhooks({ screen: "phone" });
  const { page, context, complaints, project } = room;
  type Weekly = { schedule: { weekday: number; minute: number } | null };
  const saved = async () => {
    const { schedule } = await room.ask<Weekly>("GET", `/projects/${project}/fire-drill-schedule`);
    return schedule && [schedule.weekday, schedule.minute];
  };
  await room.go(`/projects/${project}/fire-drill/`);
  await page.getByLabel("Day").selectOption("Thursday");
  await page.getByLabel("Time", { exact: true }).fill("07:30");
  await button(page, "Save").click();
  await expectSeen(page.getByText(/^Next:/));
  await expectSoon(saved).toEqual([3, 450]);
  await undo(page, "Weekly fire drill saved");
  await expectSeen(page.getByText("Off", { exact: true }));
  await expectSoon(saved).toBeNull();

  await page.getByLabel("Day").selectOption("Friday");
  await button(page, "Save").click();
  await button(page, "Turn off").click();
  await expectSeen(page.getByText("Off", { exact: true }));
  await undo(page, "Weekly fire drill turned off");
  await expectSeen(page.getByText(/^Next:/));
  await expectSoon(saved).toEqual([4, 540]);
  expect(await accessibilityTrouble(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await context.close();
});
