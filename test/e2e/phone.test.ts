// With a finger on a phone: a row that is swiped aside is paused and can be taken back; scrolling, tapping and a finger
// that thinks better of it pause nothing.
import type { CDPSession, Page } from "playwright-core";
import { expect, test } from "vitest";
import { button, expectSeen, expectSoon, notice, openRoom, row, stateOf, undo } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();
/** As many as a phone shows, and more. */
const FEW = 5;
const MANY = 14;
/** A tap that opens nothing never will. */
const OPENS_MS = 30_000;
const MEANT = { x: -140, y: 4 };

async function openList(jobs: number) {
  const room = await openRoom(used, { screen: "phone" });
  for (let n = 1; n <= jobs; n += 1) await room.make(`job ${String(n).padStart(2, "0")}`);
  await room.go(`/projects/${room.project}/checks/`);
  await expectSeen(row(room.page, "job 03"));
  return { ...room, finger: await room.context.newCDPSession(room.page) };
}

/** Puts a finger on a row and moves it in steps, as the browser's own touch events; lets go unless told. */
async function drag(
  page: Page,
  finger: CDPSession,
  { name, by, lets = true }: { name: string; by: { x: number; y: number }; lets?: boolean },
): Promise<void> {
  const box = await row(page, name).boundingBox();
  if (box === null) throw new Error(`${name} is not on the screen`);
  const from = { x: box.x + box.width * 0.6, y: box.y + box.height / 2 };
  const touch = (type: "touchStart" | "touchMove", { x, y }: { x: number; y: number }) =>
    finger.send("Input.dispatchTouchEvent", { type, touchPoints: [{ x, y }] });
  await touch("touchStart", from);
  for (let step = 1; step <= 10; step += 1) {
    await touch("touchMove", { x: from.x + (by.x * step) / 10, y: from.y + (by.y * step) / 10 });
  }
  if (lets) await finger.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
}

test("a row that is swiped aside is paused, with a way back, and swiped again it is resumed", async () => {
  const { page, context, complaints, finger } = await openList(FEW);
  await drag(page, finger, { name: "job 03", by: MEANT, lets: false });
  await expectSoon(() => row(page, "job 03").getAttribute("data-swipe")).toBe("meant");
  // The word stands where the row has made room for it.
  const word = "getComputedStyle(document.querySelector('[data-swipe]'), '::after')";
  await expectSoon(() => page.evaluate(`[${word}.content, ${word}.width]`)).toEqual([
    '"Pause"',
    `${-MEANT.x}px`,
  ]);
  expect(await page.evaluate("document.scrollingElement.scrollWidth - innerWidth")).toBe(0);
  await finger.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  await expectSoon(() => stateOf(page, "job 03")).toBe("paused");
  expect(await row(page, "job 03").getAttribute("data-swipe")).toBeNull();
  await undo(page, "Paused job 03");
  await expectSoon(() => stateOf(page, "job 03")).not.toBe("paused");

  await drag(page, finger, { name: "job 04", by: MEANT });
  await expectSoon(() => stateOf(page, "job 04")).toBe("paused");
  await expectSeen(notice(page, "Paused job 04"));
  await drag(page, finger, { name: "job 04", by: MEANT });
  await expectSoon(() => stateOf(page, "job 04")).not.toBe("paused");
  expect(page.url()).toContain("/checks/");
  expect(complaints).toEqual([]);
  await context.close();
});

test("scrolling, a short swipe and one to the right pause nothing", async () => {
  const { page, context, finger } = await openList(MANY);
  await drag(page, finger, { name: "job 06", by: { x: -30, y: -260 } });
  await expectSoon(() => page.evaluate<number>("scrollY")).toBeGreaterThan(100);
  await drag(page, finger, { name: "job 06", by: { x: -60, y: 0 } });
  await drag(page, finger, { name: "job 06", by: { x: 120, y: 0 } });
  expect(await row(page, "job 06").getAttribute("data-swipe")).toBeNull();
  // The server has answered what was asked later, so it has answered everything.
  await drag(page, finger, { name: "job 07", by: MEANT });
  await expectSeen(notice(page, "Paused job 07"));
  await expectSoon(() => stateOf(page, "job 07")).toBe("paused");
  expect(await page.locator(".toast").allTextContents()).toEqual([expect.stringContaining("Paused job 07")]);
  expect(await stateOf(page, "job 06")).toBe("new");
  await context.close();
});

test("a second finger neither moves a row nor leaves one aside", async () => {
  const { page, context, finger } = await openList(FEW);
  await drag(page, finger, { name: "job 02", by: MEANT, lets: false });
  await expectSoon(() => row(page, "job 02").getAttribute("data-swipe")).toBe("meant");
  const at = async (name: string, id: number, by: number) => {
    const box = await row(page, name).boundingBox();
    if (box === null) throw new Error(`${name} is not on the screen`);
    return { id, x: box.x + box.width * 0.6 + by, y: box.y + box.height / 2 };
  };
  const first = await at("job 02", 0, MEANT.x);
  const second = await at("job 04", 1, 0);
  await finger.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [first, second] });
  await finger.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  await expectSoon(() => page.locator("[data-swipe]").count()).toBe(0);
  await context.close();
});

test("a tap opens the check", async () => {
  const { page, context } = await openList(FEW);
  await row(page, "job 03").tap();
  await page.waitForURL("**/details/");
  expect(await page.locator(".toast").count()).toBe(0);
  await context.close();
});

test.each([
  ["to the left and back", { x: -60, y: 0 }],
  ["to the right", { x: 60, y: 2 }],
])("a tap right after a finger was dragged %s opens the check", async (_, by) => {
  const { page, context, finger } = await openList(FEW);
  for (const name of ["job 02", "job 03", "job 04"]) {
    await drag(page, finger, { name, by });
    await drag(page, finger, { name, by: { x: 0, y: 0 } });
    await page.waitForURL("**/details/", { timeout: OPENS_MS });
    await page.goBack();
    await expectSeen(row(page, name));
  }
  await context.close();
});

test("swipe actions are in the menu of the row too", async () => {
  const { page, context } = await openList(FEW);
  await row(page, "job 02").getByRole("button").tap();
  await page.getByRole("menuitem", { name: "Pause" }).tap();
  await expectSoon(() => stateOf(page, "job 02")).toBe("paused");
  await expectSeen(button(page, "Undo"));
  await context.close();
});

test("the second line of a row says what came last, when it is expected, and what comes next", async () => {
  const { page, context } = await openList(3);
  const at = async (part: string) => {
    const box = await row(page, "job 01").locator(part).boundingBox();
    return {
      left: box?.x ?? 0,
      right: (box?.x ?? 0) + (box?.width ?? 0),
      middle: (box?.y ?? 0) + (box?.height ?? 0) / 2,
    };
  };
  await expectSeen(row(page, "job 01").getByText("every day"));
  // Once everything stands where it will stay: a letter that is drawn later would move what is beside it.
  await expectSoon(async () => {
    const [last, expected, next] = [await at(".row-last"), await at(".row-expected"), await at(".row-next")];
    return {
      isInOrder: expected.left >= last.right && next.left >= expected.right,
      isOneLine: [last, next].every(({ middle }) => Math.abs(middle - expected.middle) < 3),
    };
  }).toEqual({ isInOrder: true, isOneLine: true });
  await context.close();
});
