// The names of the roles, separate from their code: a process loads only the roles that it runs.
import { didYouMean } from "../lib/nearest-name.ts";

/** In the order in which they start. */
export const ROLE_NAMES = [
  "ping",
  "smtp",
  "api",
  "web",
  "recorder",
  "sweeper",
  "notifier",
  "mover",
  "housekeeper",
] as const;

export type RoleName = (typeof ROLE_NAMES)[number];

/** An unknown role was requested; the message lists the valid ones. */
export class UnknownRoleError extends Error {
  override readonly name = "UnknownRoleError";
}

/** The named roles in the order of the list; null and "all" mean all of them. Throws UnknownRoleError. */
export function chooseRoles(names: readonly string[] | null): RoleName[] {
  if (names === null || names.includes("all")) return [...ROLE_NAMES];
  const known: readonly string[] = ROLE_NAMES;
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const there = [...known, "all"].join(", ");
    throw new UnknownRoleError(
      `Unknown role "${unknown}".${didYouMean(unknown, known)} Valid roles: ${there}.`,
    );
  }
  return ROLE_NAMES.filter((name) => names.includes(name));
}
