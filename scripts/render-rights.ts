// The matrix of rights as a page: every route of the dashboard and who may call it, read off the table that the server
// serves. The test beside the dashboard's asks the real server for each cell.
import { mayDo, type Role } from "../src/core/access.ts";
import type { WebAccess, WebRoute } from "../src/services/web/route.ts";
import { WEB_ROUTES } from "../src/services/web/routes.ts";

/** Who can ask. An operator is somebody who runs the installation and is in no project of the others. */
export const CALLERS = ["owner", "manager", "member", "readOnly", "stranger", "operator", "nobody"] as const;
export type Caller = (typeof CALLERS)[number];

/** How a request is met: it goes on, or the status that it is refused with. */
export type Met = "yes" | 401 | 403 | 404;

const ROLES: readonly string[] = ["owner", "manager", "member", "readOnly"];

/** What the access of a route means for a caller. */
export function metBy(access: WebAccess, caller: Caller): Met {
  if (access === "anyone") return "yes";
  if (caller === "nobody") return 401;
  if (access === "account") return "yes";
  if (access === "operator") return caller === "operator" ? "yes" : 404;
  if (!ROLES.includes(caller)) return 404;
  return mayDo(caller as Role, access) ? "yes" : 403;
}

const HEAD = `# Who may do what

Every page and every request of the dashboard, and who may call it. Printed from the table that the server serves (\`src/services/web/routes.ts\`) and \`src/core/access.ts\`; \`test/web/matrix.test.ts\` asks the real server for each cell. 401: nobody is signed in (pages lead to signing in instead). 403: the role does not allow it. 404: there is nothing that this person may see. "again" means that it has to be proven once more who is there, unless that was done in the last half hour.

Rights are judged when something is done, not when it was begun. An invitation ends when whoever sent it may invite no more: removed, gone, made a member or reader, handed the project over, no operator any more; and it is judged once more when it is accepted. There is always an operator: two who step down at once are judged one after the other. A check that is moved to another project takes its history along, and not the names and answers of the channels that heard of it before; the log of those channels does not name it any more. A page that is open ends with the right to look at it.

Not in the table, because no session opens them: ping addresses, badges, the APIs and metrics pages, which are opened by what stands in their address or by a key (\`src/core/access.ts\`), the documents of the APIs, which are for everybody, and the pages that mails link to (\`/integrations/…/verify\`, \`/integrations/…/unsub\`, \`/accounts/unsubscribe_reports/…\`, \`/api/v3/bounces/\`), where a signature in the address, or in the mail that came back, is the right to do this one thing.

`;

/** The whole page. */
export function renderRights(): string {
  const head = ["Request", "Access", ...CALLERS];
  const rows = WEB_ROUTES.map(rowOf).toSorted((one, other) =>
    (one[0] ?? "").localeCompare(other[0] ?? "", "en"),
  );
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return `${HEAD}${lines.join("\n")}\n`;
}

function rowOf(route: WebRoute): string[] {
  const { method, path, access, reauth } = route;
  const cells = CALLERS.map((caller) => String(metBy(access, caller)));
  return [`\`${path}\` ${method}`, reauth === true ? `${access}, again` : access, ...cells];
}
