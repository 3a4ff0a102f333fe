// The page of all projects: what matters first, a new project, and the way from one to another.
import { expect, test } from "vitest";
import { visit } from "../support/browser.ts";
import { button, openRoom, expectSeen, person, signal, expectSoon } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

test("a project is created by its name alone, and its empty page shows how to begin", async () => {
  const { page, context, complaints } = await used.open();
  await visit(page, `${used.site.url}/`);
  await button(page, "New project").click();
  const form = page.getByRole("dialog", { name: "New project" });
  await form.getByLabel("Name").fill("Kitchen");
  await button(form, "Create project").click();
  await page.waitForURL(/\/projects\/[0-9a-f-]{36}\/checks\/$/);
  await expectSeen(page.getByRole("heading", { name: "Monitor your first job" }));
  await expectSeen(button(page, "Switch project: Kitchen"));
  expect(complaints).toEqual([]);
  await context.close();
});

test("a card counts statuses and names the last change; down checks come first", async () => {
  const room = await openRoom(used, { name: "Zebra" });
  const { page, context } = room;
  const { id } = await room.make("stripes");
  await signal(used, id);
  await signal(used, id, "/fail");
  await expectSoon(
    async () => (await room.ask<{ row: { state: string } }>("GET", `/checks/${id}`)).row.state,
  ).toBe("down");
  await room.go("/");
  const card = page.locator(".project-card", { hasText: "Zebra" });
  await expectSoon(() => card.locator(".project-counts").textContent()).toBe("1 down");
  await expectSoon(() => card.locator(".project-flip").textContent()).toMatch(/^stripes went down/);
  const order = await page.locator(".project-link").allTextContents();
  expect(order.indexOf("Zebra")).toBeLessThan(order.indexOf("Playground"));
  expect(await page.title()).toMatch(/^\(\d+\) .*need/);
  await card.getByRole("link", { name: "Zebra" }).click();
  await page.waitForURL(`**/projects/${room.project}/checks/`);
  await context.close();
});

test("the page of all projects shows a monitoring gap", async () => {
  const room = await openRoom(used, { name: "Monitoring gap" });
  const { page, context } = room;
  await page.route("**/api/overdue/v1/projects", async (route) => {
    const answer = await route.fetch();
    const { projects } = (await answer.json()) as { projects: unknown[] };
    const toAt = Date.now();
    const monitoringGap = { fromAt: toAt - 300_000, toAt };
    await route.fulfill({ response: answer, json: { projects, monitoringGap } });
  });
  await room.go(`/projects/${room.project}/checks/`);
  await page.getByRole("link", { name: "Overdue", exact: true }).click();
  await expectSeen(page.getByText(/^Monitoring gap: no pings were received for 5 min/));
  await context.close();
});

test("the switcher leads to another project without loading the page anew", async () => {
  const room = await openRoom(used, { name: "Here" });
  const { page, context } = room;
  await room.make("something");
  await room.go(`/projects/${room.project}/checks/`);
  await page.evaluate("globalThis.isSamePage = true");
  await button(page, "Switch project: Here").click();
  await page.getByRole("menuitem", { name: "Demo" }).click();
  await page.waitForURL(`**/projects/${used.seeded.demo}/checks/`);
  await expectSeen(page.getByRole("link", { name: "Nightly backup", exact: true }));
  expect(await page.evaluate("globalThis.isSamePage")).toBe(true);
  await context.close();
});

test("a project of other users is not found by a non-member", async () => {
  const accountId = await person(used, "stranger@example.org");
  const { page, context } = await used.open({ accountId });
  // One that is there and one that is not are answered alike.
  for (const project of [used.seeded.demo, "00000000-0000-4000-8000-000000000000"]) {
    const answer = await page.goto(`${used.site.url}/projects/${project}/checks/`);
    expect(answer?.status()).toBe(404);
    expect(await answer?.text()).not.toContain("Nightly backup");
  }
  await context.close();
});
