// Upsert: which existing check a create request with `unique` means. This file decides what has to be
// equal and which match wins; finding the candidates is the store's.
import type { CheckParams, CheckSettings } from "../check.ts";

/** The fields that `unique` may name, as they are called on the wire. */
export const UNIQUE_FIELDS = ["name", "slug", "tags", "timeout", "grace"] as const;
export type UniqueField = (typeof UNIQUE_FIELDS)[number];

/** What a check must have stored to be the one that is meant. */
export type UniqueCriteria = Partial<
  Pick<CheckSettings, "name" | "slug" | "tags" | "timeoutSeconds" | "graceSeconds">
>;

const SETTING_OF = {
  name: "name",
  slug: "slug",
  tags: "tags",
  timeout: "timeoutSeconds",
  grace: "graceSeconds",
} as const satisfies Record<UniqueField, keyof CheckSettings & keyof CheckParams>;

/**
 * The criteria of a request, or null when it can match nothing: `unique` names no field, or one that the
 * request does not give. A derived slug is not given.
 */
export function uniqueCriteria(params: CheckParams, unique: readonly UniqueField[]): UniqueCriteria | null {
  if (unique.length === 0) return null;
  const criteria: Record<string, string | number> = {};
  for (const field of unique) {
    const setting = SETTING_OF[field];
    const value = params[setting];
    if (value === undefined) return null;
    criteria[setting] = value;
  }
  return criteria;
}

/** Whether stored settings meet the criteria. The period counts even while a schedule has replaced it. */
export function meetsCriteria(settings: CheckSettings, criteria: UniqueCriteria): boolean {
  const keys = Object.keys(criteria) as (keyof UniqueCriteria)[];
  return keys.every((key) => settings[key] === criteria[key]);
}

/**
 * Of the checks of one project, the oldest that meets the criteria, or null.
 *
 * @internal Only tests use it.
 */
export function oldestMatch<C extends { id: number | bigint; settings: CheckSettings }>(
  candidates: Iterable<C>,
  criteria: UniqueCriteria,
): C | null {
  let oldest: C | null = null;
  for (const candidate of candidates) {
    if (!meetsCriteria(candidate.settings, criteria)) continue;
    if (oldest === null || candidate.id < oldest.id) oldest = candidate;
  }
  return oldest;
}
