// The page of badges: the picture is loaded from the address that is offered, follows what is chosen, and is what
// somebody without an account gets.
import { expect, test } from "vitest";
import { chooseAction, openRoom, expectSeen, expectSoon } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

test("the chosen badge is shown as a picture, and its URL returns the same one to everyone", async () => {
  const room = await openRoom(used);
  const { page, context, complaints } = room;
  await room.go(`/projects/${used.seeded.demo}/badges/`);
  const picture = page.locator(".badges-result img");
  await expectSeen(picture);
  const width = () =>
    picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth);
  await expectSoon(width).toBeGreaterThan(0);
  const all = await picture.getAttribute("src");
  await page.getByLabel("Show status of").selectOption({ label: "Tag: backup" });
  await expectSoon(() => picture.getAttribute("src")).not.toBe(all);
  await expectSoon(width).toBeGreaterThan(0);
  await page.getByLabel("Statuses").selectOption({ label: "Up, late and down" });
  const address = await page.getByLabel("URL", { exact: true }).textContent();
  const answer = await fetch(address ?? "");
  expect(answer.headers.get("content-type")).toContain("image/svg+xml");
  expect(await answer.text()).toContain("backup");
  expect(await page.getByLabel("Markdown").textContent()).toBe(`![Status of backup](${address})`);
  await page.getByLabel("Format").selectOption({ label: "JSON" });
  await expectSoon(() => page.getByLabel("URL", { exact: true }).textContent()).toMatch(/\.json$/);
  const told = await fetch((await page.getByLabel("URL", { exact: true }).textContent()) ?? "");
  expect(await told.json()).toMatchObject({ total: 2 });
  expect(complaints).toEqual([]);
  await context.close();
});

test("a check has its own badge, linked from its page", async () => {
  const room = await openRoom(used);
  const { page, context, complaints } = room;
  await room.make('another "job"');
  const { id } = await room.make("watched job");
  await room.go(`/checks/${id}/details/`);
  await chooseAction(page, "Status badge");
  await page.waitForURL(`**/projects/${room.project}/badges/?check=${id}`);
  await expectSoon(() => page.getByLabel("Check", { exact: true }).inputValue()).toBe(id);
  await expectSeen(page.getByRole("img", { name: "Status of watched job" }));
  const address = async () => (await page.getByLabel("URL", { exact: true }).textContent()) ?? "";
  expect(await (await fetch(await address())).text()).toContain("watched job");
  await page.getByLabel("Check", { exact: true }).selectOption({ label: 'another "job"' });
  await expectSeen(page.getByRole("img", { name: 'Status of another "job"' }));
  expect(await (await fetch(await address())).text()).toContain("another ");
  expect(await page.getByLabel("HTML").textContent()).toContain('alt="Status of another &quot;job&quot;">');
  expect(complaints).toEqual([]);
  await context.close();
});
