// The addresses of the badges of the key's project. What they lead to is served by the badge service.
import { setImmediate as nextTurn } from "node:timers/promises";
import { type BadgeContext, badgeTags, badgeUrls } from "../../../contract/history/badge.ts";
import { badgeSignature } from "../../../core/badge.ts";
import { TAGS_LISTED_MAX } from "../../../core/limits.ts";
import { hmacSha1, sha1 } from "../../../lib/secrets/hashes.ts";
import { listTags } from "../../../store/checks/check-search.ts";
import type { Handler } from "../exchange.ts";

/** So many tags are presented without a pause. */
const PRESENTED_AT_ONCE = 100;

/** Six for each tag that a check of the project has, and six for all its checks. */
export const listBadges: Handler = async ({ project }, { database, urls, secretKey: secret }) => {
  const { badgeKey } = project;
  const tags = badgeTags(await listTags(database, { projectId: project.id, limit: TAGS_LISTED_MAX }));
  const sign = (tag: string) => badgeSignature({ badgeKey, tag, secret }, { sha1, hmacSha1 });
  return { status: 200, pieces: badgePieces(tags, { urls, badgeKey, sign }) };
};

async function* badgePieces(tags: readonly string[], context: BadgeContext): AsyncGenerator<string> {
  let before = '{"badges":{';
  for (let from = 0; from < tags.length; from += PRESENTED_AT_ONCE) {
    if (from > 0) await nextTurn();
    const entries = tags
      .slice(from, from + PRESENTED_AT_ONCE)
      .map((tag) => `${JSON.stringify(tag)}:${JSON.stringify(badgeUrls(tag, context))}`);
    yield before + entries.join(",");
    before = ",";
  }
  yield "}}";
}
