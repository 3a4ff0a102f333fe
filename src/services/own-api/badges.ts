// Badge URLs to copy. The badges are served by services/api/badges.ts.
import { presentBadges } from "../../contract/badges.ts";
import type { BadgesPage, CheckBadge } from "../../contract/api/checks.ts";
import { badgeSignature, OVERALL_TAG } from "../../core/badge.ts";
import { BADGE_TAGS_SHOWN_MAX } from "../../core/limits.ts";
import { hmacSha1, sha1 } from "../../lib/secrets.ts";
import { listTags } from "../../store/checks.ts";
import { checkRoute, projectRoute, type WebRoute } from "../web/route.ts";

const ofProject = projectRoute({
  name: "badges of a project",
  method: "GET",
  path: "/web/api/projects/:project/badges",
  access: "view",
  answer: async ({ context, project }) => {
    const { badgeKey } = project;
    const { urls, secretKey: secret } = context;
    const limit = BADGE_TAGS_SHOWN_MAX + 1;
    const found = await listTags(context.database, { projectId: project.id, limit });
    const isCut = found.length > BADGE_TAGS_SHOWN_MAX;
    const sign = (tag: string) => badgeSignature({ badgeKey, tag, secret }, { sha1, hmacSha1 });
    const { badges } = presentBadges(found.slice(0, BADGE_TAGS_SHOWN_MAX), { urls, badgeKey, sign });
    const listed = Object.entries(badges).map(([tag, addresses]) => ({
      tag: tag === OVERALL_TAG ? null : tag,
      ...addresses,
    }));
    // All checks first: it is what most people want.
    const page: BadgesPage = { badges: [...listed.slice(-1), ...listed.slice(0, -1)], isCut };
    return { json: page };
  },
});

const ofCheck = checkRoute({
  name: "badge of a check",
  method: "GET",
  path: "/web/api/checks/:check/badge",
  access: "view",
  answer: async ({ context, check }) => {
    const at = (states: 2 | 3, format: string) =>
      `${context.urls.site}/b/${states}/${check.badgeUuid}.${format}`;
    const addresses: CheckBadge = {
      svg: at(2, "svg"),
      svg3: at(3, "svg"),
      json: at(2, "json"),
      json3: at(3, "json"),
      shields: at(2, "shields"),
      shields3: at(3, "shields"),
    };
    return { json: addresses };
  },
});

export const badgeRoutes: readonly WebRoute[] = [ofProject, ofCheck];
