// The keys that a matrix of rights is asked with: of nobody, of strangers, and of a project's own in both kinds.
import { createKeys } from "../../src/operations/api-keys.ts";
import { type Cast, UNKNOWN_KEY } from "./cast.ts";

export const CREDENTIALS = [
  "no key",
  "malformed key",
  "unknown key",
  "revoked key",
  "read-only",
  "read-write",
  "other project's read-write",
  "other project's read-only",
] as const;
export type Credential = (typeof CREDENTIALS)[number];
export type Keys = Readonly<Record<Credential, string | undefined>>;

/** One of each; a key of the owner is made and revoked for it. */
export async function makeKeys(cast: Cast): Promise<Keys> {
  const { owner, stranger, secretKey } = cast;
  const revoked = await createKeys(cast.db, {
    projectUuid: owner.project.uuid,
    kinds: ["readWrite"],
    name: "gone",
    replace: false,
    secretKey,
    now: await cast.now(),
  });
  await cast.db.pool.query("update api_keys set revoked_at = now() where name = 'gone'");
  return {
    "no key": undefined,
    "malformed key": owner.rw.slice(1),
    "unknown key": UNKNOWN_KEY,
    "revoked key": revoked.keys.readWrite,
    "read-only": owner.ro,
    "read-write": owner.rw,
    "other project's read-write": stranger.rw,
    "other project's read-only": stranger.ro,
  };
}
