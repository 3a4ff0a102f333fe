// A passkey in a real browser: made on the account page's way, used to sign in and to prove it again, with Chromium's
// own virtual authenticator. And the pages of signing in, which axe finds nothing wrong with, in both themes.
import { expect, test } from "vitest";
import { accessibilityTrouble, visit } from "../support/browser.ts";
import { addAuthenticator, button, person, expectSeen } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const used = useSite();

/** What the account page does when somebody adds a passkey. */
const ADD = `(async () => {
  const post = async (path, body) => {
    const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    return answer.json();
  };
  const options = await post("/web/account/passkeys/options", {});
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const credential = await navigator.credentials.create({ publicKey });
  const page = await post("/web/account/passkeys", { name: "Laptop", response: credential.toJSON() });
  return page.passkeys.length;
})()`;

test("a passkey of the browser signs in, and proves again who is there", async () => {
  const accountId = await person(used, "passkey@example.org");
  const { page, context, complaints } = await used.open({ accountId });
  await addAuthenticator(page);
  await visit(page, `${used.site.url}/accounts/profile/`);
  expect(await page.evaluate(ADD)).toBe(1);
  await context.clearCookies();
  await visit(page, `${used.site.url}/accounts/login/?next=/accounts/profile/`);
  await button(page, "Sign in with a passkey").click();
  await page.waitForURL(`${used.site.url}/accounts/profile/`);
  await expectSeen(page.getByText("passkey@example.org"));
  await used.site.database.pool.query("update sessions set proven_at = proven_at - interval '1 hour'");
  await visit(page, `${used.site.url}/accounts/confirm/?next=/accounts/profile/`);
  await button(page, "Use a passkey").click();
  await page.waitForURL(`${used.site.url}/accounts/profile/`);
  expect(complaints).toEqual([]);
  await context.close();
});

const PAGES = [
  "/accounts/login/",
  "/accounts/login_link_sent/",
  "/accounts/link/nothing/",
  "/accounts/invitation/x/",
];

test.each(["light", "dark"] as const)(
  "the pages of signing in have nothing that axe finds, %s",
  async (theme) => {
    // The dark theme changes colors only.
    const what = theme === "light" ? "all" : "contrast";
    for (const path of PAGES) {
      const { page, context } = await used.open({ signedIn: false, theme, screen: "phone" });
      await visit(page, used.site.url + path);
      expect([path, await accessibilityTrouble(page, what)]).toEqual([path, []]);
      await context.close();
    }
    const { page, context } = await used.open({ theme });
    await used.site.database.pool.query("update sessions set proven_at = proven_at - interval '1 hour'");
    await visit(page, `${used.site.url}/accounts/confirm/`);
    await expectSeen(page.getByRole("heading", { name: "Re-authenticate" }));
    expect(await accessibilityTrouble(page, what)).toEqual([]);
    await context.close();
  },
);
