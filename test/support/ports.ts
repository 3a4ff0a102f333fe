// Ports for what is started, or stopped and started again: outside of the range from which the system takes the ports
// of outgoing connections and of whoever does not care, so that nobody else has taken one when its owner comes.
import { createServer } from "node:net";

const LOWEST = 12_000;
const HIGHEST = 31_000;
const ATTEMPTS_MAX = 200;

const handedOut = new Set<number>();

/** A port on loopback that nobody listens on, and that is given to nobody else in this process. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (handedOut.has(port) || !(await isFree(port))) continue;
    handedOut.add(port);
    return port;
  }
  throw new Error(`found no free port between ${LOWEST} and ${HIGHEST}`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}
