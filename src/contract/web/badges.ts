// The public addresses of badges: of all checks of a project, of each of its tags, and of one check.

type BadgeAddresses = {
  svg: string;
  svg3: string;
  json: string;
  json3: string;
  shields: string;
  shields3: string;
};

/** GET /web/api/projects/:project/badges */
export type BadgesPage = {
  /** `tag` null stands for all checks of the project. */
  badges: ({ tag: string | null } & BadgeAddresses)[];
  /** The project has more tags than these. */
  isCut: boolean;
};

/** GET /web/api/checks/:check/badge */
export type CheckBadge = BadgeAddresses;
