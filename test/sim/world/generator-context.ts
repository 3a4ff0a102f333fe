import type { Schedules } from "../model/schedule.ts";
import type { Reception } from "./receipt.ts";
import type { WorldHead } from "./world.ts";

/** The input for generating the checks of a world. */
export type GeneratorContext = {
  seed: number;
  base: Omit<WorldHead, "faults" | "silences">;
  /** Whether checks have policies and silences. */
  hasPolicies: boolean;
  reception: Reception;
  schedules: Schedules;
};

const MINUTE_MS = 60_000;

/** Users retry until the server is available. */
export function whenReachable({ reception }: GeneratorContext, trueAt: number): number {
  let at = trueAt;
  while (!reception.isReachable(at)) at += 2 * MINUTE_MS;
  return at;
}

/** A seed for one of many random generators. */
export function mixed(seed: number, index: number): number {
  let value = Math.imul(seed ^ 0x5bd1e995, 0x9e3779b1) + Math.imul(index + 1, 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 16), 0x27d4eb2f);
  return (value ^ (value >>> 15)) >>> 0;
}
