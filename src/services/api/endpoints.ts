// The only list of who answers which endpoint, and of what each has to be handed.
import type { ApiEndpoint } from "../../contract/versions.ts";
import { listBadges } from "./endpoints/badges.ts";
import { listChannels } from "./endpoints/channels.ts";
import {
  createCheck,
  deleteCheck,
  getCheck,
  listChecks,
  pauseCheck,
  resumeCheck,
  updateCheck,
} from "./endpoints/checks.ts";
import { listFlips } from "./endpoints/flips.ts";
import { getPingBody, listPings } from "./endpoints/pings.ts";
import { getStatus } from "./endpoints/status.ts";
import type { CheckHandler, Handler, OpenHandler } from "./exchange.ts";

export type Responder =
  | { about: "nothing"; handler: OpenHandler }
  | { about: "project"; handler: Handler }
  | { about: "check"; handler: CheckHandler };

export const RESPONDERS: Readonly<Record<ApiEndpoint, Responder>> = {
  listChecks: { about: "project", handler: listChecks },
  createCheck: { about: "project", handler: createCheck },
  getCheck: { about: "check", handler: getCheck },
  updateCheck: { about: "check", handler: updateCheck },
  pauseCheck: { about: "check", handler: pauseCheck },
  resumeCheck: { about: "check", handler: resumeCheck },
  deleteCheck: { about: "check", handler: deleteCheck },
  listPings: { about: "check", handler: listPings },
  getPingBody: { about: "check", handler: getPingBody },
  listFlips: { about: "check", handler: listFlips },
  listChannels: { about: "project", handler: listChannels },
  listBadges: { about: "project", handler: listBadges },
  getStatus: { about: "nothing", handler: getStatus },
};
