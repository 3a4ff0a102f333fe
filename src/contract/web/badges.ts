// The public addresses of badges: of all checks of a project, of each of its tags, and of one check.

type BadgeAddresses = {
  svg: string;
  svg3: string;
  json: string;
  json3: string;
  shields: string;
  shields3: string;
};

/** GET /web/api/projects/:project/badges; `tag` null stands for all checks of the project. */
export type BadgesPage = { badges: ({ tag: string | null } & BadgeAddresses)[] };

/** GET /web/api/checks/:check/badge */
export type CheckBadge = BadgeAddresses;
