// The map of badge URLs in the Management API: six for each tag of a project and six for all its checks.
import { type Static, Type } from "typebox";
import { type BadgeStates, encodeTagSegment, OVERALL_TAG, signatureSegment } from "../core/badge.ts";
import { splitTags } from "../core/identity.ts";
import { type PublicUrls, tagBadgeUrl } from "./urls.ts";

const url = (description: string) => Type.String({ format: "uri", description });

export const BadgeUrlsSchema = Type.Object(
  {
    svg: url("SVG document, two states: up and down."),
    svg3: url("SVG document, three states: up, late and down."),
    json: url("JSON document, two states."),
    json3: url("JSON document, three states."),
    shields: url("JSON for shields.io, two states."),
    shields3: url("JSON for shields.io, three states."),
  },
  { additionalProperties: false },
);

export const BadgeListSchema = Type.Object(
  {
    badges: Type.Record(Type.String(), BadgeUrlsSchema, {
      description: "Badge URLs by tag. The tag `*` includes all checks of the project.",
    }),
  },
  { additionalProperties: false },
);

export type BadgeUrls = Static<typeof BadgeUrlsSchema>;

export type BadgeContext = {
  urls: PublicUrls;
  badgeKey: string;
  /** The signature of one tag. */
  sign: (tag: string) => string;
};

/** The tags in these texts in alphabetical order, and last the one for all checks. */
export function badgeTags(tagTexts: readonly string[]): string[] {
  const tags = new Set(tagTexts.flatMap(splitTags));
  // A tag with this name gets the overall badges, too.
  tags.delete(OVERALL_TAG);
  return [...tags].toSorted().concat(OVERALL_TAG);
}

/** The badge URLs of all these tags. For a large project, present tags one by one instead. */
export function presentBadges(
  tagTexts: readonly string[],
  context: BadgeContext,
): { badges: Record<string, BadgeUrls> } {
  // From entries and not by assignment, because a tag may be named `__proto__`.
  const entries = badgeTags(tagTexts).map((tag) => [tag, badgeUrls(tag, context)] as const);
  return { badges: Object.fromEntries(entries) };
}

/** The badge URLs of one tag. */
export function badgeUrls(tag: string, { urls, badgeKey, sign }: BadgeContext): BadgeUrls {
  const signature = sign(tag);
  const tagSegment = tag === OVERALL_TAG ? null : encodeTagSegment(tag);
  const at = (format: "svg" | "json" | "shields", states: BadgeStates) =>
    tagBadgeUrl(urls, { badgeKey, signature: signatureSegment(signature, states), tagSegment, format });
  return {
    svg: at("svg", 2),
    svg3: at("svg", 3),
    json: at("json", 2),
    json3: at("json", 3),
    shields: at("shields", 2),
    shields3: at("shields", 3),
  };
}
