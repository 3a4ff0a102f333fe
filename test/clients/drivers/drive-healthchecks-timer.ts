// Lets the npm package healthchecks.io ping at once and, by a very short minute, once more.
// Arguments: folder of clients, site, UUID of a check.
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

type Heartbeat = { start(): void; stop(): void };
type Package = { healthcheck: (url: string, minutes?: number) => Heartbeat };

/** As minutes: a second. */
const PERIOD_MINUTES = 1 / 60;
/** Time for the first beat of the timer and not for the second. */
const LISTENING_MS = 1_500;

const [folder = "", site = "", uuid = ""] = process.argv.slice(2);
// By its path, since it is no package of this project.
const home = join(folder, "npm/healthchecks.io/node_modules/healthchecks.io");
const { healthcheck } = createRequire(import.meta.url)(home) as Package;

const heartbeat = healthcheck(`${site}/ping/${uuid}`, PERIOD_MINUTES);
await sleep(LISTENING_MS);
heartbeat.stop();
