// The page of a link that acknowledges an incident, in a browser: a program that opens it, follows its links and runs
// scripts acknowledges nothing; a person without JavaScript does it with one button.
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { ackUrl } from "../../src/core/ack-link.ts";
import { secretsOf, signingWith } from "../../src/operations/secrets.ts";
import { getIncident } from "../../src/operations/incidents.ts";
import { findProjectByUuid } from "../../src/store/projects.ts";
import { accessibilityTrouble, visit } from "../support/browser.ts";
import { sampleChannel } from "../support/checks-under-change.ts";
import { sampleIncident } from "../support/incidents.ts";
import { sampleCheck } from "../support/sample.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

async function newLink() {
  const { database, url: site } = used.site;
  const projectId = (await findProjectByUuid(database, used.seeded.demo))?.id ?? 0;
  const checkIds: number[] = [];
  for (const name of ["Nightly backup", "a-name-without-a-place-to-break-it-".repeat(2), "DB dump"]) {
    checkIds.push((await sampleCheck(database, { projectId, name })).id);
  }
  const incident = await sampleIncident(database, { projectId, checkIds });
  const channel = await sampleChannel(database, { projectId, name: "Ops" });
  const signing = signingWith(await secretsOf(database, { secretKey: null, secretKeyPrevious: null }));
  const url = ackUrl({ site, signing }, { incidentId: incident.id, channelId: channel.id });
  const read = () => getIncident(database, { projectId, number: incident.number });
  return { url, read };
}

const tooWide = (page: Page) =>
  page.evaluate(
    "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth",
  ) as Promise<number>;

test("a scanner that runs scripts and follows links acknowledges nothing", async () => {
  const { url, read } = await newLink();
  const { page, context } = await used.open({ signedIn: false });
  for (const method of ["HEAD", "GET"]) await context.request.fetch(url, { method });
  await visit(page, url);
  // What scanners do to find hidden contents.
  await page.mouse.wheel(0, 5_000);
  await page.evaluate(
    "document.querySelectorAll('*').forEach((one) => one.dispatchEvent(new Event('mouseover')))",
  );
  const links = await page
    .locator("a[href]")
    .evaluateAll((all) => all.map((one) => String(one.getAttribute("href"))));
  expect(links.length).toBeGreaterThan(0);
  const forms = await page
    .locator("form")
    .evaluateAll((all) => all.map((one) => String(one.getAttribute("action") ?? "")));
  for (const link of [...links, ...forms.map(() => url)]) {
    await page.goto(new URL(link, url).href);
    await page.waitForLoadState("networkidle");
  }
  expect(await read()).toMatchObject({ state: "open", acknowledged: null, events: [] });
});

test("a person does it without JavaScript, and takes it back", async () => {
  const { url, read } = await newLink();
  const { context } = await used.open({ signedIn: false });
  const browser = context.browser();
  const plain = await browser?.newContext({
    javaScriptEnabled: false,
    viewport: { width: 360, height: 640 },
  });
  const page = await plain?.newPage();
  if (page === undefined) throw new Error("no browser");
  await page.goto(url);
  expect(await page.title()).toContain("Nightly backup");
  await page.getByRole("button", { name: "Acknowledge" }).click();
  await page.getByText("with the link sent to Ops").waitFor();
  expect(await read()).toMatchObject({ state: "acknowledged" });
  await page.getByRole("button", { name: "Undo acknowledgement" }).click();
  await page.getByRole("button", { name: "Acknowledge" }).waitFor();
  expect(await read()).toMatchObject({ state: "open" });
  await plain?.close();
});

test("the page is accessible in both themes, and fits on a phone", async () => {
  const { url } = await newLink();
  const { page, complaints } = await used.open({ signedIn: false });
  await page.setViewportSize({ width: 320, height: 568 });
  await visit(page, url);
  expect(await page.locator("h1").count()).toBe(1);
  expect(await tooWide(page)).toBe(0);
  expect(await accessibilityTrouble(page), "light").toEqual([]);
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await accessibilityTrouble(page, "contrast"), "dark").toEqual([]);
  expect(complaints).toEqual([]);
});
