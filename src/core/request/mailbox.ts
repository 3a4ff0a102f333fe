// Which check a mail address means: the part before the @, whose domain has been found to be ours. Only its
// syntax; whether there is such a check is told when the message is recorded.
import type { SignalTarget } from "../accepted.ts";
import { hasSlugCharacters, uuidOfAnyCase } from "../identity.ts";
import { PING_KEY_LENGTH, SLUG_LENGTH_MAX } from "../limits.ts";

/** Where the version of a UUID stands. */
const VERSION_AT = 14;
const PING_KEY = /^[-A-Za-z0-9_]+$/;

/** What a local part names, or null when it can name no check. A UUID may come in either letter case. */
export function mailboxTarget(localPart: string): SignalTarget | null {
  const plusAt = localPart.indexOf("+");
  if (plusAt === -1) {
    const uuid = uuidOfAnyCase(localPart);
    return uuid !== null && uuid[VERSION_AT] === "4" ? { by: "uuid", uuid } : null;
  }
  const pingKey = localPart.slice(0, plusAt);
  const slug = localPart.slice(plusAt + 1);
  if (pingKey.length !== PING_KEY_LENGTH || !PING_KEY.test(pingKey)) return null;
  if (slug === "" || slug.length > SLUG_LENGTH_MAX || !hasSlugCharacters(slug)) return null;
  return { by: "slug", pingKey, slug };
}
