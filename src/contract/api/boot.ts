import type { ServiceState } from "../../core/database-identity.ts";
import type { CheckPage } from "./check-page.ts";
import type { Timeline, TimelineQuery } from "./timeline.ts";
import type { ChangedBy, Overview, ProjectHead, ProjectList, SinceAway } from "./overview.ts";

/** The rights of a user in a project. */
export type ProjectRight = ProjectHead["may"][number];
export type {
  MonitoringGap,
  ProjectCard,
  ProjectHead,
  SinceAway,
  StateCounts,
  TagCount,
} from "./overview.ts";

// The pages of the dashboard by path: the server answers each with the shell, and the browser's router is tested
// against this list.

export type PagePath = {
  name: string;
  /** Segments with a colon stand for a UUID, `:n` for a number. */
  path: string;
  /** Who may open it: anyone, any signed-in user, an admin, or a member of the project in the path. */
  for: "anyone" | "account" | "operator" | "member";
};

export const PAGE_PATHS = [
  { name: "projects", path: "/", for: "account" },
  { name: "checks", path: "/projects/:project/checks/", for: "member" },
  { name: "timeline", path: "/projects/:project/timeline/", for: "member" },
  { name: "incidents", path: "/projects/:project/incidents/", for: "member" },
  { name: "incident", path: "/projects/:project/incidents/:n/", for: "member" },
  { name: "events", path: "/projects/:project/events/", for: "member" },
  { name: "near-misses", path: "/projects/:project/near-misses/", for: "member" },
  { name: "forecast", path: "/projects/:project/forecast/", for: "member" },
  { name: "silences", path: "/projects/:project/silences/", for: "member" },
  { name: "channels", path: "/projects/:project/channels/", for: "member" },
  { name: "fire-drill", path: "/projects/:project/fire-drill/", for: "member" },
  { name: "reports", path: "/projects/:project/reports/", for: "member" },
  { name: "status-pages", path: "/projects/:project/status-pages/", for: "member" },
  { name: "badges", path: "/projects/:project/badges/", for: "member" },
  { name: "settings", path: "/projects/:project/settings/", for: "member" },
  { name: "check", path: "/checks/:check/details/", for: "member" },
  { name: "run", path: "/checks/:check/runs/:n/", for: "member" },
  { name: "profile", path: "/accounts/profile/", for: "account" },
  { name: "admin", path: "/admin/", for: "operator" },
  { name: "welcome", path: "/welcome/", for: "operator" },
] as const satisfies readonly PagePath[];

export type PageName = (typeof PAGE_PATHS)[number]["name"];

// The data embedded in a page, so that the first rows need no further request.

/** Whether there is anything to show. */
export function hasNews({ wentDown, recovered, createdCount }: SinceAway): boolean {
  return wentDown.length + recovered.length + createdCount > 0;
}

export type BootPage =
  | ({ kind: "checks" } & Overview)
  | ({ kind: "projects" } & ProjectList)
  | { kind: "check"; project: ProjectHead; check: CheckPage }
  /** `query`: what it was requested with. */
  | { kind: "timeline"; project: ProjectHead; query: TimelineQuery; timeline: Timeline };

export type Theme = "system" | "light" | "dark";
/** The row height of the list. */
export type Density = "comfortable" | "compact";

export type BootAccount = {
  email: string;
  name: string;
  /** IANA name; null: that of the browser. */
  zone: string | null;
  theme: Theme;
  density: Density;
  /** May open the server admin pages. */
  isAdmin: boolean;
};

export type Boot = {
  /** Null on pages for anyone. */
  account: BootAccount | null;
  projects: ProjectHead[];
  site: {
    name: string;
    url: string;
    /** The base path of the site, without a trailing slash: "" or "/overdue". */
    base: string;
    pingUrl: string;
    /** The domain of a check's email address; null: pings by email are not received. */
    mailDomain: string | null;
    version: string;
    /** The public key with which browsers subscribe to push messages of this server, in base64url. */
    pushKey: string;
  };
  /** Median from a missed deadline to the delivered alert, in the last 24 hours; null: there was no alert. */
  alertDelayMs: number | null;
  /** Anything but "normal": the database was restored or copied, and no notifications are sent. */
  serviceState: ServiceState;
  /** Null: the page requests its data itself. */
  page: BootPage | null;
  /** The server's clock. */
  now: number;
};

/** The cookie with the theme of the last signed-in user, for pages without an account. */
export const THEME_COOKIE = "overdue_theme";

/** The id of the element that contains the data as JSON. */
export const BOOT_ELEMENT = "boot";

/**
 * The body of an error response: `error` is a sentence for the user, `field` names the part of the request that it
 * concerns.
 */
export type WebError = {
  error: string;
  field?: string;
  /** The user has to re-authenticate; the same request works after that. */
  reauth?: true;
  /** With 409: what was changed in the meantime. */
  conflict?: EditConflict;
};

/** What another user changed while a form was open. */
export type EditConflict = {
  by: ChangedBy;
  at: number;
  /** Field by field, as in the audit log. */
  before: Record<string, unknown>;
  after: Record<string, unknown>;
  /** The version that a form has to send to overwrite that change. */
  version: number;
};
