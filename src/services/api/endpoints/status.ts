// The status call, for load balancers and people who wonder. It needs no key and says no more than well or not.
import { presentStatus } from "../../../contract/history/status.ts";
import { AppError, ERROR_TEXT } from "../../../core/errors.ts";
import { STATUS_QUERY_MS_MAX } from "../../../core/limits.ts";
import { askDatabase } from "../../../store/instance.ts";
import type { OpenHandler } from "../exchange.ts";

/** 200 when the database answers in time, 503 otherwise. */
export const getStatus: OpenHandler = async ({ column }, { database, log }) => {
  try {
    await askDatabase(database, { limitMs: STATUS_QUERY_MS_MAX });
  } catch (error) {
    log.debug({ err: error }, "the status query failed");
    throw new AppError("unavailable", ERROR_TEXT.unavailable);
  }
  const shown = presentStatus(column.statusAnswer);
  return "json" in shown ? { status: 200, ...shown } : { status: 200, ...shown, type: "text/plain" };
};
