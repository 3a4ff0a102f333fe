// The dashboard as an app that can be installed, and its service worker, which shows push messages. No push service can
// be reached here, so the messages come from the browser's own tools.
import type { CDPSession } from "playwright-core";
import { expect, test } from "vitest";
import { button, expectSeen, expectSoon, openRoom } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

test("the manifest names the app and icons that exist", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  await room.go(`/projects/${room.project}/channels/`);
  const href = await page.locator("link[rel=manifest]").getAttribute("href");
  const answer = await page.request.get(new URL(href ?? "", page.url()).href);
  expect(answer.headers()["content-type"]).toBe("application/manifest+json");
  const manifest = (await answer.json()) as { start_url: string; icons: { src: string; sizes: string }[] };
  expect(manifest).toMatchObject({ name: "Overdue", start_url: "/", scope: "/", display: "standalone" });
  for (const { src } of manifest.icons) {
    const icon = await page.request.get(new URL(src, page.url()).href);
    expect([icon.status(), icon.headers()["content-type"]]).toEqual([200, "image/png"]);
  }
  const devTools = await context.newCDPSession(page);
  const parsed = await devTools.send("Page.getAppManifest");
  expect(parsed.errors).toEqual([]);
  expect(parsed.url).toBe(`${used.site.url}/manifest.webmanifest`);
  await context.close();
});

test("the service worker is never cached, may act for the whole site, and shows push messages", async () => {
  const room = await openRoom(used);
  const { page, context, complaints } = room;
  const { url } = used.site;
  const answer = await page.request.get(`${url}/service-worker.js`);
  expect(answer.headers()).toMatchObject({
    "content-type": "text/javascript; charset=utf-8",
    "cache-control": "no-cache",
    "content-security-policy": "default-src 'none'; img-src 'self'; frame-ancestors 'none'",
  });
  await room.go(`/projects/${room.project}/channels/`);
  const registered = context.waitForEvent("serviceworker");
  const scope = await page.evaluate(
    `navigator.serviceWorker.register("/service-worker.js", { scope: "/" })
      .then(() => navigator.serviceWorker.ready).then(({ scope }) => scope)`,
  );
  expect(scope).toBe(`${url}/`);
  const worker = await registered;
  // A browser without a screen shows no notifications, so they are written down.
  await worker.evaluate(`
    globalThis.shown = [];
    ServiceWorkerRegistration.prototype.showNotification = async (title, options) => {
      shown.push({ title, ...options });
    };
  `);
  const devTools = await context.newCDPSession(page);
  const registrationId = await registrationIn(devTools);
  const payload = { title: "backup is DOWN", body: "No ping", url: `${url}/`, tag: "t" };
  const data = JSON.stringify(payload);
  await devTools.send("ServiceWorker.deliverPushMessage", { origin: url, registrationId, data });
  await expectSoon(() => worker.evaluate("shown")).toEqual([
    {
      title: payload.title,
      body: payload.body,
      icon: `${url}/web/assets/icon-192.png`,
      data: { url: payload.url },
      tag: payload.tag,
      renotify: true,
    },
  ]);
  expect(complaints).toEqual([]);
  await context.close();
});

async function registrationIn(devTools: CDPSession): Promise<string> {
  const found = new Promise<string>((resolve) => {
    devTools.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
      const [first] = registrations;
      if (first !== undefined) resolve(first.registrationId);
    });
  });
  await devTools.send("ServiceWorker.enable");
  return found;
}

test("the form asks for permission instead of typed keys, and says what is missing", async () => {
  const room = await openRoom(used);
  const { page, context } = room;
  await room.go(`/projects/${room.project}/channels/?open=webpush`);
  const form = page.getByRole("dialog");
  await expectSeen(form.getByText(/even when the dashboard is closed/));
  expect(await form.getByLabel("Endpoint").count()).toBe(0);
  await button(form, "Create channel").click();
  await expectSeen(form.getByRole("alert").getByText("Turn on notifications for this browser first."));
  await context.close();
});
