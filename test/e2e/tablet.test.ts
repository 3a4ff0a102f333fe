// In the widths between a phone and a desk, which a tablet has and half a screen: names are not cut short, and no part
// is left with a column that holds one word.
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { visit } from "../support/browser.ts";
import { expectSeen, expectSoon, openRoom } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();
const WIDTHS = [768, 820, 860, 910, 960] as const;
const NAME = "cleanup eu-west host-07084";
/** Narrower than this a sentence stands in a column of single words. */
const SENTENCE_PX = 240;

/** How much of the first name is not seen. */
const CUT_OFF = `(() => {
  const name = document.querySelector(".row-link");
  return name.scrollWidth - name.clientWidth;
})()`;

const setWidth = (page: Page, width: number) => page.setViewportSize({ width, height: 1_000 });
const widthOf = async (page: Page, selector: string) =>
  (await page.locator(selector).first().boundingBox())?.width ?? 0;

test("the list shows the name of a machine whole, and what can be done beside the title", async () => {
  const room = await openRoom(used, { screen: "tablet" });
  const { page, context, complaints } = room;
  await room.make(NAME, { tags: "prod cleanup eu-west" });
  await room.go(`/projects/${room.project}/checks/`);
  await expectSeen(page.locator(".row-link"));
  for (const width of WIDTHS) {
    await setWidth(page, width);
    await expectSoon(() => page.evaluate(CUT_OFF), `${width}`).toBe(0);
    const apart = async () => {
      const title = await page.locator("h1").boundingBox();
      const act = await page.locator(".top .button").boundingBox();
      return Math.abs((title?.y ?? 0) - (act?.y ?? 0));
    };
    await expectSoon(apart, `${width}`).toBeLessThan(20);
  }
  expect(complaints).toEqual([]);
  await context.close();
});

test.each([
  { what: "channels", column: ".channels-last" },
  { what: "events", column: ".events-what" },
  { what: "settings", column: ".section-body" },
])("the page of $what has room for sentences", async ({ what, column }) => {
  const { page, context, complaints } = await used.open({ screen: "tablet" });
  await visit(page, `${used.site.url}/projects/${used.seeded.demo}/${what}/`);
  for (const width of WIDTHS) {
    await setWidth(page, width);
    await expectSoon(() => widthOf(page, column), `${width}`).toBeGreaterThan(SENTENCE_PX);
  }
  expect(complaints).toEqual([]);
  await context.close();
});
