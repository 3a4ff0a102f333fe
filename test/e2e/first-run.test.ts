// The first run, from the owner's link to a signal seen on the page: account, public address, mail with the server's
// real answer, first check, and a mistake that is named.
import { afterAll, expect, test } from "vitest";
import { startSmtp } from "../receivers/smtp.ts";
import { visit } from "../support/browser.ts";
import { button, expectSeen, expectSoon, signal } from "./at-the-screen.ts";
import { useSite } from "./use-site.ts";

const smtp = await startSmtp();
const used = useSite(
  {
    OVERDUE_SMTP_HOST: "127.0.0.1",
    OVERDUE_SMTP_PORT: String(smtp.port),
    OVERDUE_SMTP_TLS: "none",
    OVERDUE_MAIL_FROM: "Overdue <overdue@example.org>",
  },
  { isFresh: true },
);
afterAll(() => smtp.close());

const USED = "select used_at is not null as used from sign_in_tokens where purpose = 'setUp'";

/** The link that the server logs while there is no admin. It does so after it is ready, and only the newest works. */
async function ownerLink(): Promise<string> {
  const printed = () => /"link":"([^"]+)"/.exec(used.site.program.said())?.[1];
  await expectSoon(printed).toBeDefined();
  return printed() ?? "";
}

test("the owner signs in by the link, tests URL and email, creates a check and sees its first ping", async () => {
  const { page, context, complaints } = await used.open({ signedIn: false });
  const link = await ownerLink();
  await visit(page, link);
  await page.getByLabel("Email address").fill("owner@example.org");
  await page.getByLabel("Password").fill("short");
  await button(page, "Create account").click();
  await expectSeen(page.getByRole("alert"));
  // What was refused has the cursor, and the address is still there.
  await expectSoon(() => page.evaluate("document.activeElement.name")).toBe("password");
  await page.getByLabel("Password").fill("four words in a row");
  await button(page, "Create account").click();
  await page.waitForURL(`${used.site.url}/welcome/`);
  await expectSeen(page.getByText("Signed in as owner@example.org."));

  await expectSeen(page.getByText(/^The server reached itself at/));

  smtp.behave({ onRcptTo: () => "550 5.1.1 No such user here" });
  await page.getByLabel("Send a test email to").fill("ops@example.org");
  await button(page, "Send test email").click();
  await expectSoon(() => page.getByLabel("Response from the mail server").textContent()).toContain(
    "No such user here",
  );
  smtp.behave({});
  await button(page, "Send test email").click();
  await expectSeen(page.getByText(/^The mail server accepted the email/));
  expect(smtp.received.at(-1)?.to).toEqual(["ops@example.org"]);

  await page.getByLabel("Name", { exact: true }).fill("nightly backup");
  await button(page, "Create check").click();
  const line = await expectSeen(page.getByLabel("Command that sends the first ping"));
  const [id = ""] = /[0-9a-f-]{36}/.exec((await line.textContent()) ?? "") ?? [];
  await fetch(`${used.site.url}/ping/${id.slice(0, -1)}${id.endsWith("0") ? "1" : "0"}`);
  await expectSeen(page.getByText("Received but not matched"));
  await signal(used, id);
  await expectSeen(page.getByText("Ping received"));
  await page.getByRole("link", { name: "Open check" }).click();
  await page.waitForURL(`**/checks/${id}/details/`);
  await expectSoon(() => page.title()).toContain("nightly backup is on time");
  expect(complaints.filter((one) => !/^400 |status of 400/.test(one))).toEqual([]);
  await context.close();

  const late = await used.open({ signedIn: false });
  expect((await late.page.goto(link))?.status()).toBe(404);
  // Not only because there is an owner by now.
  expect((await used.site.database.pool.query(USED)).rows).toEqual([{ used: true }]);
  await late.context.close();
});
