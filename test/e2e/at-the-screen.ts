// What tests in a browser do again and again: wait for what a person would wait for, make what a page needs by asking
// the server as the browser does, and send signals as a job does.
import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import { createAccount } from "../../src/operations/accounts.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { visit } from "../support/browser.ts";
import type { Opened, OpenOptions, UsedSite } from "./use-site.ts";

/** A bound for what never comes, not for what is slow. */
const NEVER_MS = 180_000;

/** Waits until a question about the page is answered as expected. */
export function expectSoon<T>(question: () => Promise<T> | T, message?: string) {
  return expect.poll(question, {
    timeout: NEVER_MS,
    interval: 50,
    ...(message !== undefined && { message }),
  });
}

/** Waits until something is on the screen. */
export async function expectSeen(what: Locator): Promise<Locator> {
  await what.first().waitFor({ state: "visible", timeout: NEVER_MS });
  return what.first();
}

/** Waits until something is on the screen no more. */
export async function expectGone(what: Locator): Promise<void> {
  await what.first().waitFor({ state: "detached", timeout: NEVER_MS });
}

/** The buttons of a page by what they say, from the beginning. */
export function button(place: Page | Locator, name: string): Locator {
  return place.getByRole("button", { name, exact: true });
}

/** The row of a check in the list, by its whole name. */
export function row(page: Page, name: string): Locator {
  return page.locator(".row", { has: page.getByTitle(name, { exact: true }) });
}

/** The word that a row says of its check's state. */
export function stateOf(page: Page, name: string): Promise<string | null> {
  return row(page, name).locator(".state-word").textContent();
}

/** What the page says about something that was just done. */
export function notice(page: Page, text: string): Locator {
  return page.locator(".toast", { hasText: text });
}

/** Takes back what was just done, by the button in the notice of it. */
export async function undo(page: Page, text: string): Promise<void> {
  await button(await expectSeen(notice(page, text)), "Undo").click();
}

/** How long one attempt to click may take; the next one follows. */
const ATTEMPT_MS = 2_000;

/** Chooses an entry of the menu "More actions", which closes again if the page is still loading. */
export async function chooseAction(page: Page, entry: string): Promise<void> {
  const item = page.getByRole("menuitem", { name: entry });
  const click = (what: Locator) =>
    what.click({ timeout: ATTEMPT_MS }).then(
      () => true,
      () => false,
    );
  await expectSoon(async () => {
    if (!(await item.isVisible())) await click(button(page, "More actions"));
    return click(item);
  }, `"${entry}" can be chosen`).toBe(true);
}

/** Chooses a time zone by typing it. With the list closed, Enter would send the form. */
export async function chooseZone(field: Locator, zone: string): Promise<void> {
  if ((await field.inputValue()) === zone) return;
  await field.fill(zone);
  await field.press("Enter");
  await expectSoon(() => field.inputValue()).toBe(zone);
}

export type Room = Opened & {
  /** A project that only this test uses. */
  project: string;
  /** Asks the server as the page does; fails when it refuses. */
  ask: <T>(method: string, path: string, body?: object) => Promise<T>;
  make(name: string, settings?: object): Promise<CheckRow>;
  go(path: string): Promise<void>;
};

/** A window of the owner with an empty project for this test alone. */
export async function openRoom(used: UsedSite, options: OpenOptions & { name?: string } = {}): Promise<Room> {
  const { name = "Workshop", ...window } = options;
  const opened = await used.open(window);
  const { url } = used.site;
  const ask = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const answer = await opened.page.request.fetch(`${url}/api/overdue/v1${path}`, {
      method,
      headers: { Origin: url },
      ...(body !== undefined && { data: body }),
    });
    if (!answer.ok()) throw new Error(`${method} ${path}: ${answer.status()} ${await answer.text()}`);
    const text = await answer.text();
    return (text === "" ? null : JSON.parse(text)) as T;
  };
  const { id: project } = await ask<{ id: string }>("POST", "/projects", { name });
  return {
    ...opened,
    project,
    ask,
    make: (checkName, settings = {}) =>
      ask<CheckRow>("POST", `/projects/${project}/checks`, { name: checkName, ...settings }),
    go: (path) => visit(opened.page, url + path),
  };
}

/** Sends a ping, as a job does, and waits until it has been accepted. */
export async function signal(used: UsedSite, check: string, what = "", body?: string): Promise<void> {
  const url = `${used.site.url}/ping/${check}${what}`;
  const response = await fetch(url, { method: body === undefined ? "GET" : "POST", body: body ?? null });
  expect(`${response.status} ${await response.text()}`).toBe("200 OK");
}

/** Somebody else with an account of their own; the number is for `used.open`. */
export async function person(used: UsedSite, email: string): Promise<number> {
  const { database } = used.site;
  const now = await readDatabaseClock(database);
  const { id } = await createAccount(database, { email, name: "", isAdmin: false, checkLimit: null, now });
  return id;
}

/** Gives the browser an authenticator of its own, which answers without anybody touching it. */
export async function addAuthenticator(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}
