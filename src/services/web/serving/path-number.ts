// A number in a path: of a ping, a delivery, a session, a key. What is none names nothing.
import { AppError, ERROR_TEXT } from "../../../core/errors.ts";

/** The number; throws "not found" for anything else. */
export function pathNumber(text: string | undefined): number {
  if (!/^[1-9]\d{0,14}$/.test(text ?? "")) throw new AppError("not_found", ERROR_TEXT.notFound);
  return Number(text);
}
