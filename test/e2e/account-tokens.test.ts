// Personal access tokens on the account page: created once, used, listed, revoked.
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { statement } from "../../src/store/db.ts";
import { accessibilityTrouble, visit } from "../support/browser.ts";
import { button, expectGone, expectSeen, expectSoon, notice, person } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();
const LIST = "/api/overdue/v1/account/tokens";

const SET_PROVEN = statement<object>({
  name: "e2e.set_proven",
  text: "update sessions set proven_at = now() - interval '2 hours' where account_id = $1",
});
const EXPIRE = statement<object>({
  name: "e2e.expire_tokens",
  text: "update access_tokens set expires_at = now() - interval '3 days' where account_id = $1",
});

const part = (page: Page) =>
  page.locator("section.section", {
    has: page.getByRole("heading", { name: "Personal access tokens", exact: true }),
  });
const rows = (page: Page) => page.getByRole("list", { name: "Personal access tokens" }).getByRole("listitem");

const statusWith = async (token: string) =>
  (await fetch(used.site.url + LIST, { headers: { Authorization: `Bearer ${token}` } })).status;

test("a token is created with the keyboard, shown once, works, and is revoked", async () => {
  const accountId = await person(used, "tokens@example.org");
  const { page, context, complaints } = await used.open({ accountId });
  await visit(page, `${used.site.url}/accounts/profile/`);
  await expectSeen(part(page).getByText("No personal access tokens yet."));
  await button(part(page), "New token").press("Enter");
  const dialog = await expectSeen(page.getByRole("dialog", { name: "New personal access token" }));
  await dialog.getByLabel("Name").fill("Terraform");
  await dialog.getByLabel("Scope").selectOption("Write");
  await expectSeen(dialog.getByText("View and change everything you can in your projects."));
  await dialog.getByLabel("Expiration").selectOption("30 days");
  await expectSeen(dialog.getByText(/^Expires on \d/));
  expect(await accessibilityTrouble(page)).toEqual([]);
  await dialog.getByLabel("Name").press("Enter");
  const shown = await expectSeen(page.getByLabel("New token", { exact: true }));
  const token = ((await shown.textContent()) ?? "").trim();
  expect(token).toMatch(/^ovd_[\w-]{43}$/);
  expect(await accessibilityTrouble(page)).toEqual([]);
  await button(page.getByRole("dialog"), "I've copied it").click();
  await expectGone(page.getByRole("dialog"));
  await expectSoon(() => rows(page).first().textContent()).toMatch(
    /^Terraformwriteovd_[\w-]{8}… · never used · expires /,
  );
  expect(await page.content()).not.toContain(token);
  expect(await statusWith(token)).toBe(200);
  await expectSoon(async () => {
    await page.reload();
    return (await expectSeen(rows(page))).textContent();
  }).toMatch(/last used/);
  expect(await accessibilityTrouble(page)).toEqual([]);
  await button(page, "Revoke Terraform").click();
  await button(page.getByRole("dialog", { name: "Revoke Terraform?" }), "Revoke").click();
  await expectSeen(notice(page, "Token revoked."));
  await expectSeen(part(page).getByText("No personal access tokens yet."));
  expect(await statusWith(token)).toBe(401);
  expect(complaints).toEqual([]);
  await context.close();
});

test("an expired token is marked", async () => {
  const accountId = await person(used, "expired-token@example.org");
  const { page, context } = await used.open({ accountId });
  const created = await page.request.post(`${used.site.url}/web/account/tokens`, {
    headers: { Origin: used.site.url },
    data: { name: "Old script", scope: "read", expiresInDays: 30 },
  });
  expect(created.status()).toBe(201);
  await used.site.database.query(EXPIRE, [accountId]);
  await visit(page, `${used.site.url}/accounts/profile/`);
  await expectSoon(() => rows(page).first().textContent()).toMatch(
    /^Old scriptexpired.*never used · expired /,
  );
  await context.close();
});

test("the dialog asks for re-authentication and is open again afterwards", async () => {
  const accountId = await person(used, "stale-token@example.org");
  const { page, context } = await used.open({ accountId });
  await used.site.database.query(SET_PROVEN, [accountId]);
  await visit(page, `${used.site.url}/accounts/profile/`);
  await button(part(page), "New token").click();
  await page.waitForURL(/\/accounts\/confirm\//);
  expect(new URL(page.url()).searchParams.get("next")).toBe("/accounts/profile/?open=token");
  await context.close();
});
