// Which lines of a check's log are shown, and how the server is asked for them. Pure.
import type { SignalWord } from "../../../../src/contract/web/history.ts";

const SIGNALS = ["success", "fail", "start", "log", "ign"] as const satisfies readonly SignalWord[];

export const LOG_KINDS = [...SIGNALS, "flip", "event"] as const;
export type LogKind = (typeof LOG_KINDS)[number];

/** Nothing chosen means everything: null leaves a question out. */
export function askedFor(chosen: readonly LogKind[]): { types: string | null; signals: string | null } {
  if (chosen.length === 0) return { types: null, signals: null };
  const signals = SIGNALS.filter((kind) => chosen.includes(kind));
  const others = (["flip", "event"] as const).filter((kind) => chosen.includes(kind));
  return {
    types: [...(signals.length > 0 ? ["signal"] : []), ...others].join(","),
    signals: signals.length > 0 ? signals.join(",") : null,
  };
}
