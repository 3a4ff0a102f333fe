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
