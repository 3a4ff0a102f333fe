// Checks that are down while no channel is notified: named above the list and in their rows, with one press to fix it.
import { expect, test } from "vitest";
import type { CheckList, SilentChecks } from "../../src/contract/api/overview.ts";
import { accessibilityTrouble } from "../support/browser.ts";
import {
  button,
  expectGone,
  expectSeen,
  expectSoon,
  openRoom,
  type Room,
  row,
  signal,
  undo,
} from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

const WEBHOOK = { kind: "webhook", name: "ops hook", config: { url_down: "https://ops.example.org/down" } };

async function openDown(channels: object[] = []): Promise<Room> {
  const room = await openRoom(used);
  for (const channel of channels) {
    await room.ask("POST", `/projects/${room.project}/channels`, { ...channel, checks: [] });
  }
  for (const name of ["alpha", "beta"]) {
    const { id } = await room.make(name, { channels: [] });
    await signal(used, id, "/fail");
  }
  await room.make("gamma", { channels: [] });
  await room.go(`/projects/${room.project}/checks/`);
  await expectSeen(row(room.page, "gamma"));
  return room;
}

const band = ({ page }: Room) => page.getByRole("region", { name: "Checks without notifications" });
const silent = ({ ask, project }: Room) => ask<SilentChecks>("GET", `/projects/${project}/silent-checks`);

test("one press assigns the channel that there is, and the undo takes it back", async () => {
  const room = await openDown([WEBHOOK]);
  const { page, context } = room;
  await expectSeen(band(room).getByText("2 checks are down and have no channel."));
  await expectSeen(row(page, "alpha").getByText("no channel"));
  expect(await accessibilityTrouble(page)).toEqual([]);
  await button(band(room), "Notify ops hook").click();
  await expectGone(band(room));
  await expectSoon(async () => (await silent(room)).downCount).toBe(0);
  await expectSoon(() => row(page, "alpha").getByText("no channel").count()).toBe(0);
  await undo(page, "ops hook will be notified about 2 checks.");
  await expectSeen(band(room).getByText("2 checks are down and have no channel."));
  expect((await silent(room)).downCount).toBe(2);
  await context.close();
});

test("without a channel the way to the first one is offered, and a check that comes up is not counted", async () => {
  const room = await openDown();
  const { page, context } = room;
  await expectSeen(band(room).getByText("2 checks are down and have no channel."));
  expect(await accessibilityTrouble(page)).toEqual([]);
  const { checks } = await room.ask<CheckList>("GET", `/projects/${room.project}/checks`);
  await signal(used, checks.find(({ name }) => name === "alpha")?.id ?? "");
  await expectSeen(band(room).getByText("1 check is down and has no channel."));
  await band(room).getByRole("link", { name: "Add channel" }).click();
  await expectSoon(() => new URL(page.url()).pathname).toBe(`/projects/${room.project}/channels/`);
  await context.close();
});

test("a disabled channel sends no notifications", async () => {
  const room = await openDown([WEBHOOK]);
  const { page, context } = room;
  await button(band(room), "Notify ops hook").click();
  await expectGone(band(room));
  const { channels } = await room.ask<{ channels: { id: string }[] }>(
    "GET",
    `/projects/${room.project}/channels`,
  );
  await room.ask("PATCH", `/channels/${channels[0]?.id}`, { isEnabled: false });
  await page.reload();
  await expectSeen(band(room).getByText("2 checks are down and have no channel."));
  await expectSeen(band(room).getByRole("link", { name: "Add channel" }));
  await context.close();
});
