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
