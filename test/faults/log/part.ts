// One part of the scenario "log": what it breaks, and what it found. Everything runs before and after it.
import type { Figures, Size } from "../scenario.ts";
import type { LogStage } from "./log-stage.ts";
import type { Pulse } from "./pulse.ts";

export type PartFound = { figures: Figures; complaints: string[] };

/** A copy of PostgreSQL from the beginning of the run. */
export type Copy = { folder: string; takenMs: number };

export type LogPart = {
  name: string;
  about: string;
  play: (log: LogStage, given: { size: Size; pulse: Pulse; copy: Copy }) => Promise<PartFound>;
};

/** Pings per second while something is broken. */
export const PER_SECOND = 80;
