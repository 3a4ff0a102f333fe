import type { ServiceState } from "../../core/database-identity.ts";
import type { CheckPage } from "./check-page.ts";
import type { ChangedBy, Overview, ProjectHead, ProjectList, SinceAway } from "./overview.ts";

/** What a person may do in a project. */
export type ProjectRight = ProjectHead["may"][number];
export type {
  MonitoringGap,
  ProjectCard,
  ProjectHead,
  SinceAway,
  StateCounts,
  TagCount,
} from "./overview.ts";

// The pages of the dashboard by their paths: the server answers each with the shell, and the browser's router is
// tested against this list. Nothing else about a page is written here.

export type PagePath = {
  name: string;
  /** Segments with a colon stand for a UUID, `:n` for a number. */
  path: string;
  /** Who may see it: anyone, whoever is signed in, the operator, or a member of the project that the path names. */
  for: "anyone" | "account" | "operator" | "member";
};

export const PAGE_PATHS = [
  { name: "projects", path: "/", for: "account" },
  { name: "checks", path: "/projects/:project/checks/", for: "member" },
  { name: "events", path: "/projects/:project/events/", for: "member" },
  { name: "channels", path: "/projects/:project/channels/", for: "member" },
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

/** Whether there is anything to show of it. */
export function hasNews({ wentDown, recovered, createdCount }: SinceAway): boolean {
  return wentDown.length + recovered.length + createdCount > 0;
}

export type BootPage =
  | ({ kind: "checks" } & Overview)
  | ({ kind: "projects" } & ProjectList)
  | { kind: "check"; project: ProjectHead; check: CheckPage };

export type Theme = "system" | "light" | "dark";
/** How much room the rows of the list take. */
export type Density = "comfortable" | "compact";

export type BootAccount = {
  email: string;
  name: string;
  /** IANA name; null: that of the browser. */
  zone: string | null;
  theme: Theme;
  density: Density;
  /** May see the pages about the installation. */
  isAdmin: boolean;
};

export type Boot = {
  /** Null on pages that anyone may see. */
  account: BootAccount | null;
  projects: ProjectHead[];
  site: {
    name: string;
    url: string;
    /** The path under which everything lies, without a slash at its end: "" or "/overdue". */
    base: string;
    pingUrl: string;
    /** What stands behind the at sign of a check's mail address; null: signals by mail are not received. */
    mailDomain: string | null;
    version: string;
  };
  /** Median from a missed deadline to the delivered alert, of the last 24 hours; null: there was none. */
  alertDelayMs: number | null;
  /** Anything but "normal": the database was restored or copied, and nothing is sent. */
  serviceState: ServiceState;
  /** Null: the page asks for its data itself. */
  page: BootPage | null;
  /** The server's clock. */
  now: number;
};

/** The cookie by which pages that know no account have the theme of whoever was signed in last. */
export const THEME_COOKIE = "overdue_theme";

/** The id of the element of the page that carries the data, as JSON. */
export const BOOT_ELEMENT = "boot";

/**
 * What the browser is told when a request was not served: `error` is a sentence for the person who asked, `field`
 * names the part of the request that it is about.
 */
export type WebError = {
  error: string;
  field?: string;
  /** The person has to prove who they are once more; the same request works after that. */
  reauth?: true;
  /** With 409: what was changed meanwhile. */
  conflict?: EditConflict;
};

/** What somebody else has changed while a form was open. */
export type EditConflict = {
  by: ChangedBy;
  at: number;
  /** Field by field, as the record of changes has it. */
  before: Record<string, unknown>;
  after: Record<string, unknown>;
  /** What a form has to send as its version to overwrite that. */
  version: number;
};
