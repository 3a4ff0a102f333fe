// The parts of Telegram's Bot API that are used: how a method is called, and what its answers say. The token stands in
// every address, so addresses are never told to anybody.
import type { OutgoingAnswer, OutgoingRequest } from "../../lib/outgoing/guarded-http.ts";
import { jsonOf } from "../http-sending.ts";

const API = "https://api.telegram.org";

/** What may be told of a call. */
export function telegramSummary(method: string): string {
  return `POST ${new URL(API).host} ${method}`;
}

/** A call of a method. */
export function telegramRequest(
  token: string,
  { method, params, timeoutMs }: { method: string; params: object; timeoutMs: number },
): OutgoingRequest {
  return {
    method: "POST",
    url: `${API}/bot${token}/${method}`,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(params),
    timeoutMs,
  };
}

export type TelegramAnswer = {
  ok: boolean;
  result: unknown;
  description: string;
  /** The group became another kind of group and has this id now. */
  migratedTo: string | null;
  retryAfterSeconds: number | null;
};

/** An answer of the API, whatever its status. Fields that are not there, or not as they should be, are empty. */
export function telegramAnswer(answer: OutgoingAnswer): TelegramAnswer {
  const { ok, result, description, parameters } = jsonOf(answer);
  const { migrate_to_chat_id, retry_after } = recordOf(parameters);
  return {
    ok: ok === true,
    result,
    description: typeof description === "string" ? description : "",
    migratedTo: Number.isSafeInteger(migrate_to_chat_id) ? String(migrate_to_chat_id) : null,
    retryAfterSeconds: typeof retry_after === "number" && retry_after >= 0 ? retry_after : null,
  };
}

/** A value as an object; an empty one when it is none. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** The objects of a list; none when it is no list. */
export function objectsIn(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.map(recordOf) : [];
}
