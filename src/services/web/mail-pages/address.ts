// The addresses of the pages that mails link to, and of what comes back.

export type WebAddress =
  | { page: "verify" | "unsubscribe"; channelUuid: string; token: string }
  | { page: "unsubscribeReports"; token: string }
  | { page: "bounces" };

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
/** Longer than any that we make, so that a wrong one gets a page that says so. */
const TOKEN = "[A-Za-z0-9._:-]{1,200}";
const OF_CHANNEL = new RegExp(`^/integrations/(?<uuid>${UUID})/(?<verb>verify|unsub)/(?<token>${TOKEN})/?$`);
const OF_REPORTS = new RegExp(`^/accounts/unsubscribe_reports/(?<token>${TOKEN})/?$`);
const BOUNCES = /^\/api\/v[123]\/bounces\/?$/;

/** What a path below the site asks for; null when it is none of these pages. */
export function decodeWebPath(path: string): WebAddress | null {
  const { uuid, verb, token } = OF_CHANNEL.exec(path)?.groups ?? {};
  if (uuid !== undefined && token !== undefined) {
    return { page: verb === "verify" ? "verify" : "unsubscribe", channelUuid: uuid, token };
  }
  const reports = OF_REPORTS.exec(path)?.groups?.["token"];
  if (reports !== undefined) return { page: "unsubscribeReports", token: reports };
  return BOUNCES.test(path) ? { page: "bounces" } : null;
}
