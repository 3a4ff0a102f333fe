// Badge URLs to copy. The badges are served by services/management/badges.ts.
import { presentBadges } from "../../contract/badges.ts";
import type { checkRoutes } from "../../contract/api/checks.ts";
import { badgeSignature, OVERALL_TAG } from "../../core/badge.ts";
import { BADGE_TAGS_SHOWN_MAX } from "../../core/limits.ts";
import { hmacSha1, sha1 } from "../../lib/secrets.ts";
import { listTags } from "../../store/checks.ts";
import type { ApiHandlers } from "./route.ts";

export const badgeHandlers: Pick<ApiHandlers<typeof checkRoutes>, "listBadges" | "getCheckBadge"> = {
  listBadges: async ({ context, project }) => {
    const { badgeKey } = project;
    const { urls, secrets } = context;
    const limit = BADGE_TAGS_SHOWN_MAX + 1;
    const found = await listTags(context.database, { projectId: project.id, limit });
    const isTruncated = found.length > BADGE_TAGS_SHOWN_MAX;
    const sign = (tag: string) =>
      badgeSignature({ badgeKey, tag, secret: secrets.current }, { sha1, hmacSha1 });
    const { badges } = presentBadges(found.slice(0, BADGE_TAGS_SHOWN_MAX), { urls, badgeKey, sign });
    const listed = Object.entries(badges).map(([tag, addresses]) => ({
      tag: tag === OVERALL_TAG ? null : tag,
      ...addresses,
    }));
    // The badge for all checks comes first.
    return { json: { badges: [...listed.slice(-1), ...listed.slice(0, -1)], isTruncated } };
  },
  getCheckBadge: async ({ context, check }) => {
    const at = (states: 2 | 3, format: string) =>
      `${context.urls.site}/b/${states}/${check.badgeUuid}.${format}`;
    return {
      json: {
        svg: at(2, "svg"),
        svg3: at(3, "svg"),
        json: at(2, "json"),
        json3: at(3, "json"),
        shields: at(2, "shields"),
        shields3: at(3, "shields"),
      },
    };
  },
};
