// The routes of setting up: the public address tried, a test mail, and the wait for the first ping.
import { AddressQuery, type MailTest, MailTestRequest, type SetUp } from "../../../contract/web/set-up.ts";
import { accountRoute, checkRoute, openRoute, type WebRoute, WebRefusal } from "../route.ts";
import { echo, reportAddress, testAddress } from "./address.ts";
import type { SetUpParts } from "./set-up-parts.ts";
import { waitingFor } from "./waiting.ts";

const LOOKS_LIKE_MAIL = /^[^\s@<>]+@[^\s@<>]+$/;

export const setUpRoutes: readonly WebRoute[] = [
  accountRoute({
    name: "setUp.show",
    method: "GET",
    path: "/web/api/set-up",
    access: "operator",
    answer: async ({ house }) => {
      const { mail } = house.setUp;
      const shown: SetUp = {
        site: { url: house.urls.site, pingUrl: house.urls.ping, port: house.setUp.port },
        mail: { isSet: mail !== null, host: mail?.host ?? null, from: mail?.from ?? null },
      };
      return { json: shown };
    },
  }),
  accountRoute({
    name: "setUp.address",
    method: "GET",
    path: "/web/api/set-up/address",
    access: "operator",
    query: AddressQuery,
    answer: async ({ house, query, headers, remoteAddr }) => ({
      json: reportAddress(headers, { used: query.at, siteUrl: new URL(house.urls.site), remoteAddr }),
    }),
  }),
  accountRoute({
    name: "setUp.testAddress",
    method: "POST",
    path: "/web/api/set-up/address-test",
    access: "operator",
    answer: async ({ house }) => ({ json: await testAddress(new URL(house.urls.site)) }),
  }),
  openRoute({
    name: "setUp.echo",
    method: "GET",
    path: "/web/api/set-up/echo",
    access: "anyone",
    answer: async ({ house, headers }) => ({
      json: echo(headers, house.version),
      headers: { "Cache-Control": "no-store" },
    }),
  }),
  accountRoute({
    name: "setUp.testMail",
    method: "POST",
    path: "/web/api/set-up/mail-test",
    access: "operator",
    body: MailTestRequest,
    answer: async ({ house, body }) => {
      if (!LOOKS_LIKE_MAIL.test(body.to)) throw new WebRefusal("invalid", "Not a valid email address.", "to");
      return { json: await testMail(house.setUp.mail, { to: body.to, siteName: house.site.name }) };
    },
  }),
  checkRoute({
    name: "check.waiting",
    method: "GET",
    path: "/web/api/checks/:check/waiting",
    access: "view",
    answer: async (ask) => ({ json: await waitingFor(ask) }),
  }),
];

async function testMail(
  mail: SetUpParts["mail"],
  { to, siteName }: { to: string; siteName: string },
): Promise<MailTest> {
  if (mail === null) {
    const said =
      "No mail server is configured. Set OVERDUE_SMTP_HOST and the related settings, then restart the server.";
    return { isSent: false, said, code: null, answer: null, tookMs: 0 };
  }
  const startedAt = performance.now();
  const result = await mail.send({
    to,
    subject: `${siteName}: test email`,
    text: `This is a test email from ${siteName}. Alerts will come from the same address.\n`,
    html: "<p>This is a test email. Alerts will come from the same address.</p>",
  });
  const tookMs = Math.round(performance.now() - startedAt);
  if (result.kind === "sent") {
    const said = `${mail.host} accepted the email. Check that it arrives, and look in your spam folder too.`;
    return { isSent: true, said, code: result.code, answer: result.response, tookMs };
  }
  // The response of the server says what is wrong.
  const said =
    result.code === null
      ? `${result.reason}: ${mail.host}. Check OVERDUE_SMTP_HOST, OVERDUE_SMTP_PORT and OVERDUE_SMTP_TLS.`
      : result.reason;
  return { isSent: false, said, code: result.code, answer: result.response, tookMs };
}
