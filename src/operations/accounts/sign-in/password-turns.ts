// Passwords hashed and compared, each in its turn: too many at once become a refusal that people can read.
import { AppError } from "../../../core/errors.ts";
import { hashPassword, isPassword, TooBusyError } from "../../../lib/secrets/password-hash.ts";

/** Whether a password is right, or AppError `unavailable` while too many wait for an answer. */
export function judged(password: string, hash: string | null): Promise<boolean> {
  return inTurn(() => isPassword(password, hash));
}

/** The text to be stored for a password, or AppError `unavailable` while too many wait. */
export function hashed(password: string): Promise<string> {
  return inTurn(() => hashPassword(password));
}

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof TooBusyError)) throw error;
    throw new AppError("unavailable", "The server is busy. Try again in a moment.");
  }
}
