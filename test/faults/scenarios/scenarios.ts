// The list of all scenarios, in the order in which they run: the short ones first, the long mix last.
import type { Scenario } from "../scenario.ts";
import { allStopped } from "./all-stopped.ts";
import { backlog } from "./backlog.ts";
import { between } from "./between.ts";
import { clocks } from "./clocks.ts";
import { diskLost } from "./disk-lost.ts";
import { failover, failoverSync, restore, restoreOld } from "./failover.ts";
import { linkCut } from "./link-cut.ts";
import { livenessScenarios } from "./liveness.ts";
import { logScenario } from "./log/log.ts";
import { mail } from "./mail.ts";
import { mix } from "./mix.ts";
import { owedKills } from "./owed-kills.ts";
import { splitIntakes } from "./split-intakes.ts";
import { spoolDisk } from "./spool-disk.ts";
import { spoolKills } from "./spool-kills.ts";
import { stopped } from "./stopped.ts";
import { sweeperStill } from "./sweeper-still.ts";
import { syncFirst } from "./sync-first.ts";

export const SCENARIOS: readonly Scenario[] = [
  syncFirst,
  ...livenessScenarios,
  linkCut,
  splitIntakes,
  spoolKills,
  stopped,
  clocks,
  failover,
  failoverSync,
  restore,
  restoreOld,
  spoolDisk,
  between,
  mail,
  sweeperStill,
  diskLost,
  allStopped,
  owedKills,
  backlog,
  mix,
  logScenario,
];
