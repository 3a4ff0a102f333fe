// Coming in and going out: the mailed link through a real mail server, the way back to where somebody wanted to go,
// an invitation by mail, and a form that works for whoever only has a keyboard.
import { afterAll, expect, test } from "vitest";
import { type ReceivedMail, startSmtp } from "../receivers/smtp.ts";
import { visit } from "../support/browser.ts";
import { button, openRoom, person, expectSeen, expectSoon } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const smtp = await startSmtp();
const used = useSite({
  OVERDUE_SMTP_HOST: "127.0.0.1",
  OVERDUE_SMTP_PORT: String(smtp.port),
  OVERDUE_SMTP_TLS: "none",
  OVERDUE_MAIL_FROM: "Overdue <overdue@example.org>",
});
afterAll(() => smtp.close());

/** The first address of a path in the newest mail to somebody, once it has come. */
async function mailedLink(to: string, path: string): Promise<string> {
  const toThem = () => smtp.received.filter((mail) => mail.to.includes(to)).at(-1);
  const linkIn = (mail: ReceivedMail | undefined) =>
    new RegExp(`http://[^\\s"<>]*${path}[^\\s"<>]*`).exec(mail?.mail.text ?? "")?.[0] ?? null;
  await expectSoon(() => linkIn(toThem())).not.toBeNull();
  return linkIn(toThem()) ?? "";
}

test("an email link signs in once, and leads to the requested page", async () => {
  const email = "reader@example.org";
  await person(used, email);
  const { page, context, complaints } = await used.open({ signedIn: false });
  await visit(page, `${used.site.url}/accounts/profile/`);
  expect(page.url()).toContain("/accounts/login/?next=");
  await page.locator("#link-email").fill(email);
  await button(page, "Email me a link").click();
  await expectSeen(page.getByRole("heading", { name: "Check your email" }));
  const link = await mailedLink(email, "/accounts/link/");
  await visit(page, link);
  await button(page, "Sign in").click();
  await page.waitForURL(`${used.site.url}/accounts/profile/`);
  await expectSeen(page.getByText(email));
  const other = await used.open({ signedIn: false });
  expect((await other.page.goto(link))?.status()).toBe(404);
  await expectSeen(other.page.getByRole("heading", { name: "Invalid link" }));
  await other.context.close();
  expect(complaints).toEqual([]);
  await context.close();
});

test("an address without an account is answered in the same words, and gets no link", async () => {
  const { page, context } = await used.open({ signedIn: false });
  await visit(page, `${used.site.url}/accounts/login/`);
  await page.locator("#link-email").fill("nobody@example.org");
  await button(page, "Email me a link").click();
  await expectSeen(page.getByRole("heading", { name: "Check your email" }));
  const known = "known@example.org";
  await person(used, known);
  await visit(page, `${used.site.url}/accounts/login/`);
  await page.locator("#link-email").fill(known);
  await button(page, "Email me a link").click();
  await mailedLink(known, "/accounts/link/");
  expect(
    smtp.received.some(({ to, mail }) => to.includes("nobody@example.org") && mail.text?.includes("/link/")),
  ).toBe(false);
  await context.close();
});

test("a new user joins by an emailed invitation", async () => {
  const room = await openRoom(used, { name: "Guild" });
  const { page, context } = room;
  await room.make("guarded job");
  await room.go(`/projects/${room.project}/settings/`);
  await button(page, "Invite someone").click();
  const form = page.getByRole("dialog");
  await form.getByLabel("Email address").fill("new@example.org");
  await button(form, "Send invitation").click();
  const link = await mailedLink("new@example.org", "/accounts/invitation/");
  const theirs = await used.open({ signedIn: false });
  await visit(theirs.page, link);
  await theirs.page.locator("main form button").first().click();
  await theirs.page.waitForURL(`**/projects/${room.project}/checks/`);
  await expectSeen(theirs.page.getByRole("link", { name: "guarded job", exact: true }));
  await expectSeen(theirs.page.getByText("Browser time zone: Europe/Riga"));
  await theirs.context.close();
  await context.close();
});

test("after signing out, sign-in is required again, even with the old cookie", async () => {
  const { page, context } = await used.open();
  const kept = await context.cookies();
  await visit(page, `${used.site.url}/projects/${used.seeded.demo}/checks/`);
  await page.locator(".account-button").click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.waitForURL(/\/accounts\/login\//);
  for (const cookies of [[], kept]) {
    await context.addCookies(cookies);
    await page.goto(`${used.site.url}/projects/${used.seeded.demo}/checks/`);
    expect(page.url()).toContain("/accounts/login/?next=");
  }
  await context.close();
});

test("the form is filled and sent with the keyboard alone", async () => {
  const { page, context } = await used.open({ signedIn: false });
  await visit(page, `${used.site.url}/accounts/login/`);
  await page.locator("#field-email").focus();
  await page.keyboard.type("reader@example.org");
  await page.keyboard.press("Tab");
  await page.keyboard.type("a wrong password");
  await page.keyboard.press("Enter");
  await expectSeen(page.getByRole("alert"));
  expect(await page.locator("#field-email").inputValue()).toBe("reader@example.org");
  // Only the password has to be typed again.
  await expectSoon(() => page.evaluate("document.activeElement.id")).toBe("field-password");
  await context.close();
});
