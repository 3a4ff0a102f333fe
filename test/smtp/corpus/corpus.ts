// All messages of the corpus, in the order of their files.
import { ENCODINGS } from "./encodings.ts";
import { MACHINES } from "./machines.ts";
import type { Entry } from "./message.ts";
import { SHAPES } from "./shapes.ts";

export const CORPUS: readonly Entry[] = [...MACHINES, ...ENCODINGS, ...SHAPES];
