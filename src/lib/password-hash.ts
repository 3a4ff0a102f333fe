// Passwords, hashed with Argon2id and stored in the standard format with salt and costs, so that costs can be raised
// later. A hash takes tens of megabytes, so only a few are computed at once; the others wait for a limited time.
import { argon2, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

/** The minimum that OWASP recommends, with twice the memory. */
const COSTS = { memory: 38_912, passes: 2, parallelism: 1 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const AT_ONCE_MAX = 2;
const WAITING_MAX = 50;
/** Maximum costs accepted from a stored hash: a row must not be able to block the process. */
const MEMORY_MAX = 262_144;
const PASSES_MAX = 10;
const PARALLELISM_MAX = 8;

const SHAPE =
  /^\$argon2id\$v=19\$m=(?<memory>\d{1,7}),t=(?<passes>\d{1,3}),p=(?<parallelism>\d{1,2})\$(?<salt>[A-Za-z0-9+/]+)\$(?<hash>[A-Za-z0-9+/]+)$/;

const run = promisify(argon2);

/** Too many passwords are waiting to be hashed. */
export class TooBusyError extends Error {
  override readonly name = "TooBusyError";
}

let running = 0;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE_MAX) {
    if (waiting.length >= WAITING_MAX) throw new TooBusyError("too many concurrent password checks");
    await new Promise<void>((resolve) => waiting.push(resolve));
  } else running += 1;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }
}

type Parameters = { memory: number; passes: number; parallelism: number; salt: Buffer; length: number };

function derive(
  password: string,
  { memory, passes, parallelism, salt, length }: Parameters,
): Promise<Buffer> {
  return inTurn(() =>
    run("argon2id", {
      message: Buffer.from(password.normalize("NFC"), "utf8"),
      nonce: salt,
      memory,
      passes,
      parallelism,
      tagLength: length,
    }),
  );
}

/** The hash to store for a password. Throws TooBusyError if too many are waiting. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, { ...COSTS, salt, length: HASH_BYTES });
  const { memory, passes, parallelism } = COSTS;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(hash)}`;
}

function base64(bytes: Buffer): string {
  return bytes.toString("base64").replaceAll("=", "");
}

/** Compared with if there is no stored hash, so that it takes as long. */
const UNKNOWN_ACCOUNT_HASH = `$argon2id$v=19$m=${COSTS.memory},t=${COSTS.passes},p=${COSTS.parallelism}$${base64(Buffer.alloc(SALT_BYTES, 7))}$${base64(Buffer.alloc(HASH_BYTES))}`;

/** The costs in a hash; null if it cannot be verified here. */
function costsOf(stored: string): { parts: Record<string, string>; costs: typeof COSTS } | null {
  const parts = SHAPE.exec(stored)?.groups;
  if (parts === undefined) return null;
  const [memory = 0, passes = 0, parallelism = 0] = ["memory", "passes", "parallelism"].map((name) =>
    Number(parts[name]),
  );
  const isUsable = memory <= MEMORY_MAX && passes <= PASSES_MAX && parallelism <= PARALLELISM_MAX;
  return isUsable ? { parts, costs: { memory, passes, parallelism } } : null;
}

/** Whether passwords can be verified with this hash. */
export function isUsableHash(stored: string): boolean {
  return costsOf(stored) !== null;
}

/** Whether a password matches the stored hash; null means none, and takes as long. */
export async function isPassword(password: string, stored: string | null): Promise<boolean> {
  const found = costsOf(stored ?? UNKNOWN_ACCOUNT_HASH);
  if (found === null) return false;
  const { parts, costs } = found;
  const salt = Buffer.from(parts["salt"] ?? "", "base64");
  const wanted = Buffer.from(parts["hash"] ?? "", "base64");
  const hash = await derive(password, { ...costs, salt, length: wanted.length });
  return timingSafeEqual(hash, wanted) && stored !== null;
}
