// Renders docs/guide/permissions.md: who may call each route of the Overdue API and each page of the dashboard. Tests check every
// cell against a running server.
import { API_PATH, isRead, type RouteDefinition } from "../src/contract/api/route.ts";
import { API_ROUTES } from "../src/contract/api/routes.ts";
import { mayDo, neededScope, type Role } from "../src/core/access.ts";
import type { WebAccess, WebRoute } from "../src/services/web/route.ts";
import { WEB_ROUTES } from "../src/services/web/routes.ts";

/** An operator (admin) is not a member of the project. */
export const CALLERS = ["owner", "manager", "member", "readOnly", "stranger", "operator", "nobody"] as const;
export type Caller = (typeof CALLERS)[number];

/** Allowed, or the status of the refusal. */
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

const HEAD = `# Permissions

This page lists who may call each operation of the Overdue API and open each page of the dashboard. [Projects](projects.md#roles) explains the roles.

| Cell | Meaning |
| --- | --- |
| yes | Allowed |
| 401 | Not signed in; pages redirect to the sign-in page |
| 403 | The role does not allow it |
| 404 | The user cannot see the resource |

"re-authenticate" in the Access column means that dashboard users must have authenticated within the last half hour.

- Permissions are checked when an action is performed.
- An invitation becomes invalid when its sender may no longer invite: after they are removed, leave, change roles, transfer the project, or lose admin rights. Overdue checks this again when the invitation is accepted.
- The last admin cannot step down, even if two do so at the same time.
- A check that is moved to another project keeps its history, but not the names and responses of its former channels. The delivery logs of those channels no longer name it.
- Live updates end when the user loses access.

Not listed: ping URLs, badges, and Prometheus pages (protected by a key or by the URL itself), the Management API (see the [API reference](https://overdue.example.org/docs/api)), the API reference pages (public), and the pages that emails link to (\`/integrations/…/verify\`, \`/integrations/…/unsub\`, \`/accounts/unsubscribe_reports/…\`, \`/api/v3/bounces/\`), which are protected by a signature.
`;

const API_HEAD = `## Overdue API

Paths are relative to \`${API_PATH}\`. A session or a personal access token has the role of its account; the Token column shows the minimum scope of a token. The API key column shows which kind of project API key is accepted. In its project, a read-only key has the read-only role, and a read-write key has the member role. If a key is not accepted, the response is 403; if it belongs to another project, the response is 404. Without credentials, the response is 401.
`;

const PAGES_HEAD = `## Pages, and requests that only browsers make
`;

/** Column headings, where they differ from the name in code. */
const LABELS: Partial<Record<Caller, string>> = {
  readOnly: "read-only",
  stranger: "other user",
  operator: "admin",
  nobody: "signed out",
};

/** The whole page. */
export function renderRights(): string {
  return [HEAD, API_HEAD, apiTable(), "", PAGES_HEAD, pageTable(), ""].join("\n");
}

const API_CALLERS = CALLERS.filter((caller) => caller !== "nobody");

function apiTable(): string {
  const head = ["Operation", "Request", "Access", "Token", "API key", ...API_CALLERS.map(labelOf)];
  const rows = Object.entries<RouteDefinition>(API_ROUTES).map(([id, definition]) => {
    const { method, path, access, keys, reauth } = definition;
    const rule = { access, keys, isRead: isRead(definition), needsReauth: reauth === true };
    const cells = API_CALLERS.map((caller) =>
      String(metBy(access === "admin" ? "operator" : access, caller)),
    );
    const scope = access === "anyone" ? "none needed" : neededScope(rule);
    const key = keys === null ? "no" : keys === "readOnly" ? "any" : "read-write";
    return [id, `\`${path}\` ${method}`, accessText(access, reauth), scope, key, ...cells];
  });
  return tableOf(head, rows);
}

function pageTable(): string {
  const head = ["Request", "Access", ...CALLERS.map(labelOf)];
  const rows = WEB_ROUTES.map(rowOf).toSorted((one, other) =>
    (one[0] ?? "").localeCompare(other[0] ?? "", "en"),
  );
  return tableOf(head, rows);
}

function rowOf({ method, path, access, reauth }: WebRoute): string[] {
  const cells = CALLERS.map((caller) => String(metBy(access, caller)));
  const required = access === "operator" ? "admin" : access;
  return [`\`${path}\` ${method}`, accessText(required, reauth), ...cells];
}

function labelOf(caller: Caller): string {
  return LABELS[caller] ?? caller;
}

function accessText(access: string, reauth: true | undefined): string {
  return reauth === true ? `${access}, re-authenticate` : access;
}

function tableOf(head: readonly string[], rows: readonly string[][]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
