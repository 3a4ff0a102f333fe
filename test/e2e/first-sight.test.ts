// What the page of checks shows before its script runs: the real rows, in the very places where the script draws them.
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { Density } from "../../src/contract/api/boot.ts";
import type { Screen } from "../support/browser.ts";
import { expectGone, expectSeen, openRoom, signal } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

type Place = { text: string; top: number; left: number };

/** The title and, of each row on screen, its state, its name and where that stands. */
async function seen(page: Page): Promise<Place[]> {
  const places: Place[] = [];
  for (const part of await page.locator("h1, .list-group h2, .row .state-word, .row .row-link").all()) {
    const box = await part.boundingBox();
    places.push({
      text: (await part.textContent()) ?? "",
      top: Math.round(box?.y ?? -1),
      left: Math.round(box?.x ?? -1),
    });
  }
  return places.toSorted((one, other) => one.top - other.top || one.left - other.left);
}

test.each<[Screen, Density]>([
  ["desktop", "comfortable"],
  ["phone", "comfortable"],
  ["desktop", "compact"],
  ["phone", "compact"],
])(
  "on a %s, %s, the rows are there without the script, and do not move when it comes",
  async (screen, density) => {
    const room = await openRoom(used, { screen });
    const { page, context, project, complaints } = room;
    await room.ask("PATCH", "/account", { density });
    for (const name of ["job-10", "job-9", "<b>bold</b>", ""]) await room.make(name);
    // The one that broke first has failed again since.
    const broken = [await room.make("broken first"), await room.make("broken last")];
    for (const { id } of [...broken, ...broken.slice(0, 1)]) await signal(used, id, "/fail");
    const url = `${used.site.url}/projects/${project}/checks/`;
    await page.route("**/*.js", (route) => route.abort());
    await page.goto(url);
    await expectSeen(page.locator(".is-first .row"));
    await page.evaluate("document.fonts.ready");
    const before = await seen(page);
    expect(before.map(({ text }) => text)).toEqual(
      expect.arrayContaining([
        "2 jobs need attention",
        "down",
        "broken last",
        "new",
        "<b>bold</b>",
        "unnamed",
      ]),
    );
    await page.unroute("**/*.js");
    await page.goto(url);
    await expectGone(page.locator(".is-first"));
    await expectSeen(page.locator(".row"));
    await page.evaluate("document.fonts.ready");
    expect(await seen(page)).toEqual(before);
    expect(complaints.filter((one) => !one.includes(".js"))).toEqual([]);
    await context.close();
  },
);

test("a saved view is drawn by the script alone", async () => {
  const room = await openRoom(used);
  const { page, context, project } = room;
  await room.make("some job");
  await page.route("**/*.js", (route) => route.abort());
  await page.goto(`${used.site.url}/projects/${project}/checks/?search=nothing`);
  expect(await page.locator(".row").count()).toBe(0);
  await context.close();
});
