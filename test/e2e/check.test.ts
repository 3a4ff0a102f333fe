// The page of one check: editing with preview and replay, everything that can be done with it, who is told, why it was
// reported, and the lines to copy.
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { CheckList } from "../../src/contract/api/overview.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { findProjectByUuid, insertMember } from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { accessibilityTrouble } from "../support/browser.ts";
import {
  button,
  chooseAction,
  chooseZone,
  expectGone,
  expectSeen,
  expectSoon,
  notice,
  openRoom,
  person,
  type Room,
  signal,
  undo,
} from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

const heading = (page: Page) => page.getByRole("heading", { level: 1 });

/** A check of the test's own project, on its page. */
async function openCheck(name: string, settings: object = {}): Promise<Room & { id: string }> {
  const room = await openRoom(used);
  const { id } = await room.make(name, settings);
  await room.go(`/checks/${id}/details/`);
  await expectSeen(heading(room.page));
  return { ...room, id };
}

/** A check of the demonstration, which has a past. */
async function openSeeded(name: string): Promise<Room & { id: string }> {
  const room = await openRoom(used);
  const { checks } = await room.ask<CheckList>("GET", `/projects/${used.seeded.demo}/checks?limit=1000`);
  const id = checks.find((row) => row.name === name)?.id ?? "";
  await room.go(`/checks/${id}/details/`);
  await expectSeen(heading(room.page));
  return { ...room, id };
}

describe("everything that came", () => {
  test("starts, log entries, ignored requests and pauses are listed, and a signal opens", async () => {
    const { page, context, complaints, id, ...room } = await openCheck("talking job", { methods: "POST" });
    await signal(used, id, "/start", "");
    await signal(used, id, "/log", "half of it is done");
    await signal(used, id);
    await signal(used, id, "", "all of it is done");
    await room.ask("POST", `/checks/${id}/pause`);
    await room.go(`/checks/${id}/details/`);
    await (await expectSeen(button(page, "log"))).click();
    const lines = page.getByRole("table", { name: "Log" }).locator("tbody tr");
    const said = () => lines.locator(".check-outcome").allTextContents();
    await expectSoon(async () => (await said()).toSorted()).toEqual(
      ["Ignored ping", "Log entry", "Start", "Success", "came up", "was paused"].toSorted(),
    );
    await lines.getByRole("link", { name: /^Log entry/ }).click();
    await page.waitForURL(/\/runs\/2\/$/);
    await expectSeen(page.getByRole("dialog").getByText("half of it is done"));
    await page.keyboard.press("Escape");
    await expectSoon(() => lines.count(), "the list stays as it was chosen").toBe(6);
    await button(page, "logs").click();
    await expectSoon(said).toEqual(["Log entry"]);
    await button(page, "up and down").click();
    await expectSoon(async () => (await said()).toSorted()).toEqual(["Log entry", "came up"]);
    await button(page, "logs").click();
    await button(page, "up and down").click();
    await expectSoon(() => lines.count()).toBe(6);
    const exact = () => lines.first().locator("time").getAttribute("title");
    expect(await exact()).toMatch(/ (EET|GMT\+2)$/);
    await page.getByLabel("Time zone").selectOption({ label: "UTC" });
    await expectSoon(exact).toMatch(/ UTC$/);
    await button(page, "runs").click();
    await expectSoon(() => page.locator(".check-runs tbody tr").count()).toBe(1);
    expect(complaints).toEqual([]);
    await context.close();
  });
});

describe("editing", () => {
  test("the form shows the next ten times while typing, names the error, saves, and can be undone", async () => {
    const { page, context, complaints } = await openCheck("edited job");
    await button(page, "Edit").click();
    const form = page.getByRole("dialog", { name: "Edit edited job" });
    await button(form, "Cron").click();
    const expression = form.getByLabel("Cron expression");
    await expression.fill("0 25 * * *");
    await expectSeen(form.locator(".field .mistake", { hasText: "Invalid schedule: " }));
    await expression.fill("15 4 * * 1-5");
    await chooseZone(form.getByLabel("Time zone"), "America/New_York");
    await expectSoon(() => form.locator(".edit-times li").count()).toBe(10);
    await expectSoon(() => form.locator(".edit-preview b").textContent()).toContain("04:15");
    await form.getByLabel("Name", { exact: true }).fill("renamed job");
    await button(form, "Save").click();
    await expectGone(form);
    await expectSoon(() => heading(page).textContent()).toBe("renamed job");
    await expectSoon(() => page.locator("main").textContent()).toContain("04:15");
    await undo(page, "Saved renamed job.");
    await expectSoon(() => heading(page).textContent()).toBe("edited job");
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("another kind of schedule keeps text in its own language, and begins with a sample otherwise", async () => {
    const { page, context, complaints } = await openCheck("moody job");
    await button(page, "Edit").click();
    const form = page.getByRole("dialog", { name: "Edit moody job" });
    const cron = form.getByLabel("Cron expression");
    const calendar = form.getByLabel("OnCalendar expression");
    await button(form, "Cron").click();
    await expectSoon(() => cron.inputValue()).toBe("0 3 * * *");
    expect(await form.getByLabel("Time zone").inputValue()).toBe("Europe/Riga");
    await cron.fill("Mon,Fri 06:30");
    await button(form, "OnCalendar").click();
    await expectSoon(() => calendar.inputValue()).toBe("Mon,Fri 06:30");
    await button(form, "Cron").click();
    await expectSoon(() => cron.inputValue()).toBe("0 3 * * *");
    await button(form, "Interval").click();
    await button(form, "Cron").click();
    await expectSoon(() => cron.inputValue()).toBe("0 3 * * *");
    // A zone that was chosen here stays, also the one that checks begin with.
    await chooseZone(form.getByLabel("Time zone"), "UTC");
    await cron.fill("");
    await button(form, "OnCalendar").click();
    await expectSoon(() => calendar.inputValue()).toBe("*-*-* 03:00");
    expect(await form.getByLabel("Time zone").inputValue()).toBe("UTC");
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("another kind is shown immediately, and a late response changes nothing that was typed since", async () => {
    const { page, context } = await openCheck("hasty job");
    const held = Promise.withResolvers<void>();
    await page.route("**/api/overdue/v1/schedules/preview*", async (route) => {
      await held.promise;
      await route.continue();
    });
    await button(page, "Edit").click();
    const form = page.getByRole("dialog", { name: "Edit hasty job" });
    await button(form, "Cron").click();
    const cron = form.getByLabel("Cron expression");
    await cron.fill("5 4 * * *");
    const answered = page.waitForResponse("**/api/overdue/v1/schedules/preview*");
    held.resolve();
    await answered;
    await expectSoon(() => form.locator(".edit-preview b").textContent()).toContain("04:05");
    expect(await cron.inputValue()).toBe("5 4 * * *");
    await context.close();
  });

  test("server errors are shown next to the field", async () => {
    const { page, context } = await openCheck("stubborn job");
    await page.keyboard.press("e");
    const form = page.getByRole("dialog", { name: "Edit stubborn job" });
    await form.getByLabel("Slug").fill("Not A Slug");
    await button(form, "Save").click();
    await expectSeen(form.getByRole("alert"));
    expect(await form.getByLabel("Slug").getAttribute("aria-invalid")).toBe("true");
    await context.close();
  });

  test("a change of the grace time is replayed on the real history before it is saved", async () => {
    const { page, context } = await openSeeded("Fetch exchange rates");
    await button(page, "Edit").click();
    const form = page.getByRole("dialog", { name: "Edit Fetch exchange rates" });
    await form.getByLabel("Grace period", { exact: true }).fill("12");
    await form.getByLabel("Grace period: Unit").selectOption("hours");
    const replay = form.getByRole("region", { name: "Preview with past runs" });
    await expectSoon(() => replay.textContent()).toMatch(/\d+ runs?: \d+ alerts? /);
    expect(await button(form, "Save").isEnabled()).toBe(true);
    await context.close();
  });
});

describe("what can be done", () => {
  test("it is paused and resumed by the button, by the undo and by the key", async () => {
    const room = await openCheck("calm job");
    const { page, context, id } = room;
    await signal(used, id);
    await expectSoon(() => page.title()).toContain("calm job is on time");
    await button(page, "Pause").click();
    await expectSoon(() => page.title()).toContain("calm job is paused");
    await undo(page, "Paused calm job");
    await expectSoon(() => page.title()).not.toContain("paused");
    await page.keyboard.press("p");
    await expectSeen(button(page, "Resume"));
    await page.keyboard.press("p");
    await expectSeen(button(page, "Pause"));
    await context.close();
  });

  test("a ping is sent manually, and is among the runs", async () => {
    const { page, context } = await openCheck("handmade job");
    await chooseAction(page, "Send a ping now");
    await expectSeen(notice(page, "Sent a success ping to handmade job."));
    await expectSoon(() => page.title()).toContain("handmade job is on time");
    await expectSoon(() => page.locator(".check-runs tbody tr").count()).toBe(1);
    await context.close();
  });

  test("a signal from outside appears by itself, and a new check says that it came", async () => {
    const { page, context, id } = await openCheck("awaited job");
    await expectSeen(page.getByRole("heading", { name: "Send the first ping" }));
    await signal(used, id, "/start");
    await expectSoon(() => page.title()).toContain("awaited job is running");
    await signal(used, id);
    await expectSoon(() => page.title()).toContain("awaited job is on time");
    await expectSoon(() => page.locator(".check-runs tbody tr").count()).toBe(1);
    await context.close();
  });

  test("a near miss is explained while waiting for the first ping", async () => {
    const { page, context, id } = await openCheck("mistyped job");
    await fetch(`${used.site.url}/ping/${id.slice(0, -1)}${id.endsWith("0") ? "1" : "0"}`);
    await expectSeen(page.getByText("Received but not matched"));
    await context.close();
  });

  test("a copy is created and opened", async () => {
    const { page, context, id } = await openCheck("first edition", { tags: "prod" });
    await chooseAction(page, "Duplicate");
    await page.waitForURL(
      (url) => /\/checks\/.*\/details\//.test(url.pathname) && !url.pathname.includes(id),
    );
    await expectSeen(notice(page, "Duplicated first edition."));
    await context.close();
  });

  test("it is moved into another project", async () => {
    const { page, context } = await openCheck("travelling job");
    await chooseAction(page, "Move to another project");
    const window = page.getByRole("dialog", { name: "Move to another project" });
    await window.getByLabel("Project").selectOption({ label: "Playground" });
    await button(window, "Move").click();
    await expectSeen(notice(page, "Moved travelling job to Playground."));
    await expectSeen(button(page, "Switch project: Playground"));
    await context.close();
  });

  test("its history is cleared after a question", async () => {
    const { page, context, id } = await openCheck("forgetful job");
    await signal(used, id);
    await expectSoon(() => page.locator(".check-runs tbody tr").count()).toBe(1);
    await chooseAction(page, "Clear history");
    await button(page.getByRole("dialog"), "Clear history").click();
    await expectSeen(notice(page, "Cleared the history of forgetful job."));
    await expectSoon(() => page.locator(".check-runs tbody tr").count()).toBe(0);
    await expectSoon(() => page.title()).toContain("forgetful job is waiting for its first ping");
    await context.close();
  });

  test("it is deleted and the undo brings it back with its page", async () => {
    const { page, context, id, project } = await openCheck("revenant");
    await chooseAction(page, "Delete");
    await page.waitForURL(`**/projects/${project}/checks/`);
    await undo(page, "Deleted revenant");
    await page.waitForURL(`**/checks/${id}/details/`);
    await expectSoon(() => heading(page).textContent()).toBe("revenant");
    await context.close();
  });
});

describe("changes by another user", () => {
  /** Somebody who may change the checks of projects, and asks the server as their own page would. */
  async function colleague(email: string, ...projects: string[]) {
    const { database, url } = used.site;
    const accountId = await person(used, email);
    const at = await readDatabaseClock(database);
    for (const uuid of projects) {
      const projectId = (await findProjectByUuid(database, uuid))?.id ?? 0;
      await inTransaction(database, (tx) => insertMember(tx, { projectId, accountId, role: "member", at }));
    }
    const { page, context } = await used.open({ accountId });
    const ask = async (method: string, path: string, data: object = {}) => {
      const answer = await page.request.fetch(`${url}/api/overdue/v1${path}`, {
        method,
        headers: { Origin: url },
        data,
      });
      expect(answer.ok(), await answer.text()).toBe(true);
      return (await answer.json()) as unknown;
    };
    return { ask, context };
  }

  test("a page whose check is deleted names the user, and restores it; and returns when another user does", async () => {
    const { page, context, complaints, project, id } = await openCheck("doomed job");
    const { ask, ...theirs } = await colleague("deletes@example.org", project);
    await ask("DELETE", `/checks/${id}`);
    const said = page.getByRole("alert").filter({ hasText: /^deletes@example\.org deleted this check / });
    await expectSeen(said);
    expect(await heading(page).textContent()).toBe("doomed job");
    await expectSoon(() => page.title()).toContain("doomed job was deleted");
    expect(await button(page, "Edit").count()).toBe(0);
    expect(await accessibilityTrouble(page)).toEqual([]);
    await button(page, "Restore").click();
    await expectSeen(notice(page, "Restored doomed job with its history."));
    await expectSeen(button(page, "Edit"));

    await ask("DELETE", `/checks/${id}`);
    await expectSeen(said);
    await ask("POST", `/checks/${id}/restore`);
    await expectSeen(button(page, "Edit"));
    // That it is not there is what the page was to find out.
    expect(complaints.filter((one) => !one.startsWith("404 "))).toEqual([]);
    await context.close();
    await theirs.context.close();
  });

  test("a page whose check is moved says by whom and where it is; out of reach it says so", async () => {
    const { page, context, project, id, ...room } = await openCheck("wanderer");
    const { id: office } = await room.ask<{ id: string }>("POST", "/projects", { name: "Office" });
    // The page knows the projects that there were when it was loaded.
    await room.go(`/checks/${id}/details/`);
    const { ask, ...theirs } = await colleague("moves@example.org", project, office);
    await ask("POST", `/checks/${id}/transfer`, { project: office });
    const said = page.getByRole("alert").filter({ hasText: /^moves@example\.org moved this check / });
    await expectSeen(said);
    expect(await said.textContent()).toContain("It moved from Workshop to Office");
    await expectSeen(button(page, "Switch project: Office"));
    expect(await accessibilityTrouble(page)).toEqual([]);
    await button(page, "Move back").click();
    const window = page.getByRole("dialog", { name: "Move to another project" });
    await expectSoon(() => window.getByLabel("Project").inputValue()).toBe(project);
    await button(window, "Move").click();
    await expectSeen(button(page, "Switch project: Workshop"));
    await expectGone(said);

    const { id: theirOwn } = (await ask("POST", "/projects", { name: "Elsewhere" })) as { id: string };
    await ask("POST", `/checks/${id}/transfer`, { project: theirOwn });
    await expectSeen(said);
    expect(await said.textContent()).toContain("you aren't a member of its new project");
    await page.getByRole("link", { name: "View checks" }).click();
    await page.waitForURL(`**/projects/${project}/checks/`);
    await context.close();
    await theirs.context.close();
  });
});

describe("beside it", () => {
  test("a channel is switched off and on for this check, with a way back", async () => {
    const { page, context } = await openSeeded("Certificate renewal");
    const toggle = page.getByRole("switch", { name: /Operations/ });
    await expectSoon(() => toggle.getAttribute("aria-checked")).toBe("true");
    await toggle.click();
    await expectSoon(() => toggle.getAttribute("aria-checked")).toBe("false");
    await undo(page, "Operations will no longer be notified about this check.");
    await expectSoon(() => toggle.getAttribute("aria-checked")).toBe("true");
    await context.close();
  });

  test("an alert is explained step by step, with its recipients and delays", async () => {
    const { page, context } = await openSeeded("Send invoices");
    await button(page, "Explain this alert").click();
    const drawer = page.getByRole("dialog", { name: "Why Send invoices went down" });
    await expectSeen(drawer.getByRole("heading", { name: "Step by step" }));
    const text = await drawer.textContent();
    expect(text).toContain("The job reported a failure");
    expect(text).toContain("Operations");
    expect(text).toMatch(/The first notification was delivered|notified/);
    await context.close();
  });

  test("a snippet is chosen and copied with the address of this check", async () => {
    const { page, context, id } = await openCheck("copied job");
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const panel = page.locator(".check-signal");
    await button(panel, "Python").click();
    await button(panel.locator(".code").first(), "Copy").click();
    await expectSeen(button(panel, "Copied"));
    const copied = await page.evaluate("navigator.clipboard.readText()");
    expect(copied).toContain(id);
    expect(copied).toBe(await panel.locator("pre").first().textContent());
    await page.keyboard.press("Escape");
    await heading(page).click();
    await page.keyboard.press("u");
    await expectSeen(notice(page, "Ping URL copied."));
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(`${used.site.url}/ping/${id}`);
    await context.close();
  });

  test("the current settings are offered as API requests", async () => {
    const { page, context, id } = await openCheck("coded job");
    await page.keyboard.press("c");
    const window = page.getByRole("dialog", { name: "Copy as code" });
    await expectSoon(() => window.locator("pre").first().textContent()).toContain(id);
    await context.close();
  });

  test("the chart, the strip of ninety days and the downtimes of a check with a past are drawn", async () => {
    const { page, context, complaints } = await openSeeded("Search index");
    await expectSeen(page.getByRole("heading", { name: "Last 90 days" }));
    await expectSeen(page.getByRole("heading", { name: "Duration" }));
    await expectSeen(page.locator(".uplot canvas, .check-chart svg, .check-chart canvas"));
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("its title says the state in a word, and labels of the track keep apart on a phone", async () => {
    const room = await openRoom(used, { screen: "phone" });
    const { page, context } = room;
    const { id } = await room.make("marked job");
    await signal(used, id);
    await room.go(`/checks/${id}/details/`);
    await expectSoon(() => page.locator(".check-title .state").textContent()).toBe("up");
    const labels = page.locator(".check-track text");
    await expectSoon(async () => (await labels.allTextContents()).map((text) => text.split(" ")[0])).toEqual([
      "last",
      "expected",
      "alert",
      "now",
    ]);
    const boxes = await labels.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
    type Box = Record<"left" | "right" | "top" | "bottom", number>;
    const isApart = (one: Box, other: Box) =>
      one.right <= other.left ||
      other.right <= one.left ||
      one.bottom <= other.top ||
      other.bottom <= one.top;
    const all = boxes as Box[];
    all.forEach((one, index) =>
      all.slice(index + 1).forEach((other) => expect(isApart(one, other)).toBe(true)),
    );
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    await signal(used, id, "/fail");
    await expectSoon(() => page.locator(".check-title .state").textContent()).toBe("down");
    await context.close();
  });
});
