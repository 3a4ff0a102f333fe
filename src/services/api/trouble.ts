// An end to waiting for the database, because a link that is silent gives no error at all.
import { AppError, ERROR_TEXT } from "../../core/errors.ts";

/** What `work` comes to, or AppError `unavailable` when that takes too long; the work itself is left to its fate. */
export async function inTime<T>(work: Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new AppError("unavailable", ERROR_TEXT.unavailable)), limitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
