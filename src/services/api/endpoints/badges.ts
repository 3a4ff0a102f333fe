// The addresses of the badges of the key's project. What they lead to is served by the badge service.
import { presentBadges } from "../../../contract/history/badge.ts";
import { badgeSignature } from "../../../core/badge.ts";
import { hmacSha1, sha1 } from "../../../lib/secrets/hashes.ts";
import { listTagTexts } from "../../../store/checks/check-search.ts";
import type { Handler } from "../exchange.ts";

/** Six for each tag that a check of the project has, and six for all its checks. */
export const listBadges: Handler = async ({ project }, { database, urls, secretKey: secret }) => {
  const { badgeKey } = project;
  const tagTexts = await listTagTexts(database, project.id);
  const sign = (tag: string) => badgeSignature({ badgeKey, tag, secret }, { sha1, hmacSha1 });
  return { status: 200, json: presentBadges({ urls, badgeKey, tagTexts, sign }) };
};
