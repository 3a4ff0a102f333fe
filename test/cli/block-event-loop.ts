// The body of a process that runs the watchdog and then blocks its event loop, or is only busy. Arguments: how, and the
// CPU time in milliseconds after which the watchdog has to end it.
import { createLog } from "../../src/lib/log.ts";
import { startWatchdog } from "../../src/lib/watchdog.ts";

const [how = "", blockedCpuMsMax = ""] = process.argv.slice(2);
startWatchdog({ log: createLog({ level: "info" }), blockedCpuMsMax: Number(blockedCpuMsMax) });

function spinForEver(): void {
  for (;;);
}

async function awaitForEver(): Promise<void> {
  for (;;) await Promise.resolve();
}

/** Uses a CPU, but gives the event loop its turns. */
function workInTurns(): void {
  const until = performance.now() + 20;
  while (performance.now() < until);
  setImmediate(workInTurns);
}

setInterval(() => console.log("alive"), 100);
setTimeout(() => {
  if (how === "spin") spinForEver();
  else if (how === "microtasks") void awaitForEver();
  else if (how === "busy") workInTurns();
}, 300);
