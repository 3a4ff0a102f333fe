// What a client under test is: who it claims to be, what it needs, and how it is driven. The list of them is in
// roster.ts; how they are run, counted and judged is in run-clients.ts.
import type { CheckSettings } from "../../src/core/check.ts";
import type { Dialect } from "../conformance/dialects.ts";
import type { Effects } from "./effects.ts";
import type { ProjectOnStage } from "./stage.ts";

/** Full is what people run; short is for the tests, where every second counts. */
export type Size = "full" | "short";

/** What a client meets: a server, a project that nobody else uses, and somebody who looks at what it did. */
export type Scene = {
  /** The public address, through the proxy that counts. */
  site: string;
  project: ProjectOnStage;
  effects: Effects;
  size: Size;
  /** Where clients are installed; empty for those that need nothing. */
  folder: string;
  /** A fresh folder that is removed afterwards. */
  scratch: string;
  /** Where the server itself listens: for what is not the client's doing, and not counted. */
  origin: string;
  /** Makes a check behind the client's back. */
  newCheck(settings?: Partial<CheckSettings>): Promise<string>;
  /** Sends signals of somebody else's: "<uuid>", "<uuid>/fail". They are not counted. */
  signal(...paths: readonly string[]): Promise<void>;
};

export type Client = {
  name: string;
  /** Of a replica, the version whose requests it repeats. Null: the installed program tells. */
  version: string | null;
  kind: "real" | "replica";
  dialect: Dialect;
  /** What the installer calls it; null when the machine has it already, or when it is a replica. */
  installs: string | null;
  /** A program that the machine has to have, and that tells its version. */
  program?: string;
  /** Said in the table: why this dialect, or what of its surface is left out. */
  note: string;
  /** Throws when something is not as the client, or its user, expects. */
  drive(scene: Scene): Promise<void>;
};

/** How one client fared. */
export type Row = {
  client: string;
  version: string;
  kind: Client["kind"];
  dialect: Dialect;
  calls: number;
  result: "passed" | "failed" | "not installed";
  note: string;
};
