// The form of a channel on an installation with its default settings: what few need is folded away, and an address in
// the own network is warned about while it is typed.
import { expect, test } from "vitest";
import { button, expectGone, expectSeen, openRoom, type Room } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

async function openForm(): Promise<Room> {
  const room = await openRoom(used);
  const { page } = room;
  await room.go(`/projects/${room.project}/channels/`);
  await page.getByRole("button", { name: /^Webhook/ }).click();
  return room;
}

test("headers, bodies and notices of a webhook are collapsed, and expanded for an error", async () => {
  const { page, context } = await openForm();
  const form = page.getByRole("dialog");
  await expectSeen(form.getByLabel("URL when down"));
  expect(await form.getByLabel("Headers when down").isVisible()).toBe(false);
  await form.getByLabel("URL when down").fill("https://example.org/down");
  await form.getByText("More options").click();
  await form.getByLabel("Headers when down").fill("no colon");
  await form.getByText("More options").click();
  expect(await form.getByLabel("Headers when down").isVisible()).toBe(false);
  await button(form, "Create channel").click();
  await expectSeen(form.getByRole("alert"));
  expect(await form.getByLabel("Headers when down").isVisible()).toBe(true);
  await context.close();
});

test("a webhook that has a body shows it at once when it is edited", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  const make = (name: string, config: object) =>
    room.ask("POST", `/projects/${room.project}/channels`, { kind: "webhook", name, config, checks: [] });
  await make("plain", { url_down: "https://example.org/" });
  await make("rich", { url_down: "https://example.org/", body_down: "$NAME" });
  await room.go(`/projects/${room.project}/channels/`);
  for (const [name, isVisible] of [
    ["plain", false],
    ["rich", true],
  ] as const) {
    await button(page.getByRole("row", { name: new RegExp(name) }), "More").click();
    await page.getByRole("menuitem", { name: "Edit" }).click();
    const form = page.getByRole("dialog", { name: `Edit ${name}` });
    await expectSeen(form.getByLabel("URL when down"));
    expect(await form.getByLabel("Body when down").isVisible()).toBe(isVisible);
    await button(form, "Cancel").click();
    await expectGone(form);
  }
  await context.close();
});

test("an address in the own network is warned about while it is typed, and in the list after it is saved", async () => {
  const { page, context, complaints } = await openForm();
  const form = page.getByRole("dialog");
  await form.getByLabel("Name").fill("Inside");
  await form.getByLabel("URL when down").fill("http://192.168.1.20/hook");
  await expectSeen(form.getByText(/OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS=true/));
  await form.getByLabel("URL when down").fill("https://example.org/hook");
  await expectGone(form.getByText(/OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS=true/));
  await form.getByLabel("URL when down").fill("http://192.168.1.20/hook");
  await button(form, "Create channel").click();
  await button(form, "Done").click();
  const row = page.getByRole("row", { name: /Inside/ });
  await expectSeen(row.getByText(/OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS=true/));
  expect(complaints).toEqual([]);
  await context.close();
});
