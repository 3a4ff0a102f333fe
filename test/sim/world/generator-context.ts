// What the checks of a generated world stand on: its seed, its size, who takes their signals, and the schedules that
// they share.
import type { Schedules } from "../model/schedule.ts";
import type { Reception } from "./receipt.ts";
import type { WorldHead } from "./world.ts";

/** What the generator is given for all checks of a world. */
export type GeneratorContext = {
  seed: number;
  base: Omit<WorldHead, "faults">;
  reception: Reception;
  schedules: Schedules;
};
