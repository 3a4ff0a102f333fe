// Handlers of silences.
import type { silenceRoutes } from "../../contract/api/silences.ts";
import { AppError } from "../../core/errors.ts";
import type { ApiHandlers } from "./route.ts";

async function notYet(): Promise<never> {
  throw new AppError("unavailable", "Not available yet.");
}

export const silenceHandlers: ApiHandlers<typeof silenceRoutes> = {
  listSilences: notYet,
  createSilence: notYet,
  previewSilence: notYet,
  getSilence: notYet,
  updateSilence: notYet,
  endSilence: notYet,
};
