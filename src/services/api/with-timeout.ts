import { AppError, ERROR_TEXT } from "../../core/errors.ts";

/** Throws AppError `unavailable` if `work` takes too long. The work itself is not stopped. */
export async function withTimeout<T>(work: Promise<T>, limitMs: number): Promise<T> {
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
