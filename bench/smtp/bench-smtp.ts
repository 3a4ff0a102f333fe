// The mail benchmark: durable messages per second, compared with the library's server that discards them. Both run
// alternately, so that a busy moment affects both.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { endWithUs } from "../../test/support/end-with-us.ts";
import { startPingProcess } from "../../test/support/ping-process.ts";
import { freePort } from "../../test/support/ports.ts";
import { type ApiStage, createApiStage } from "../api/stage.ts";
import { onEngine } from "../store/engine.ts";
import { mean, printTable, rounded, shown } from "../store/figures.ts";
import type { SmtpSize } from "./sizes.ts";

type Figures = Record<string, number>;
type Counted = { good: number; other: number; perSecond: number };
type Rates = { ours: number[]; bare: number[] };

const run = promisify(execFile);
const BARE = join(import.meta.dirname, "bare-server.ts");
const LOAD = join(import.meta.dirname, "load-process.ts");
/** A load that has not ended this long after its time hangs. */
const LOAD_GRACE_MS = 60_000;
const START_MS_MAX = 60_000;
const DOMAIN = "ping.bench.example";

/** Prints the comparison and returns the figures under flat keys. */
export async function benchSmtp(
  size: SmtpSize,
  whenInterrupted: (cleanUp: () => Promise<void>) => void,
): Promise<Figures> {
  console.log(`smtp: ${size.about}`);
  return onEngine(whenInterrupted, async (engine, folder) => {
    const stage = await createApiStage(engine, { small: size.checks, large: 1, folder });
    const rates = await measured(stage, size);
    const perSecond = mean(rates.ours);
    const over = mean(rates.ours.map((rate, round) => rate / (rates.bare[round] ?? Number.NaN)));
    printTable("smtp: messages a second", [
      ["server", "mean", "by round"],
      ["overdue, durable", shown(perSecond), rates.ours.map((rate) => shown(rate)).join(" ")],
      ["smtp-server, thrown away", shown(mean(rates.bare)), rates.bare.map((rate) => shown(rate)).join(" ")],
    ]);
    return {
      "smtp.per_second": rounded(perSecond),
      "smtp.bare_per_second": rounded(mean(rates.bare)),
      "smtp.over_bare": rounded(over),
    };
  });
}

async function measured(stage: ApiStage, size: SmtpSize): Promise<Rates> {
  try {
    return await measure(stage, size);
  } finally {
    await stage.close();
  }
}

/** Both servers are stopped at the end, whatever fails: otherwise this process would never exit. */
async function measure(stage: ApiStage, size: SmtpSize): Promise<Rates> {
  const ours = await startOurs(stage.url);
  try {
    const bare = await startBare();
    try {
      return await takeTurns({ ours: ours.mailPort, bare: bare.port }, { stage, size });
    } finally {
      bare.stop();
    }
  } finally {
    await ours.stop();
  }
}

async function startOurs(databaseUrl: string): Promise<{ mailPort: number; stop(): Promise<void> }> {
  const mailPort = await freePort();
  const ours = await startPingProcess({
    databaseUrl,
    port: await freePort(),
    roles: "smtp",
    settings: {
      OVERDUE_PING_MAIL_LISTEN: `127.0.0.1:${mailPort}`,
      OVERDUE_PING_MAIL_DOMAIN: DOMAIN,
      OVERDUE_PING_MAIL_PEER_RATE: "0",
      OVERDUE_PING_MAIL_PEER_CONNECTIONS_MAX: "1000",
    },
  });
  return { mailPort, stop: () => ours.stop() };
}

async function startBare(): Promise<{ port: number; stop(): void }> {
  const port = await freePort();
  const bare = spawn(process.execPath, [BARE, String(port)], { stdio: ["ignore", "pipe", "inherit"] });
  const stop = () => void bare.kill("SIGKILL");
  endWithUs(bare);
  const timer = setTimeout(stop, START_MS_MAX);
  const [said] = (await Promise.race([once(bare.stdout, "data"), once(bare, "exit")])) as unknown[];
  clearTimeout(timer);
  if (String(said).includes("ready")) return { port, stop };
  stop();
  throw new Error("the bare server did not start");
}

async function takeTurns(
  ports: { ours: number; bare: number },
  { stage, size }: { stage: ApiStage; size: SmtpSize },
): Promise<Rates> {
  const rates: Rates = { ours: [], bare: [] };
  const load = (port: number, seconds: number) => loaded(port, { seconds, size, stage });
  if (size.warmUpSeconds > 0) for (const port of Object.values(ports)) await load(port, size.warmUpSeconds);
  for (let round = 0; round < size.rounds; round += 1) {
    rates.ours.push((await load(ports.ours, size.seconds)).perSecond);
    rates.bare.push((await load(ports.bare, size.seconds)).perSecond);
  }
  return rates;
}

async function loaded(
  port: number,
  { seconds, size, stage }: { seconds: number; size: SmtpSize; stage: ApiStage },
): Promise<Counted> {
  const args = [LOAD, port, size.connections, seconds, stage.namesPaths.uuid, DOMAIN].map(String);
  const { stdout } = await run(process.execPath, args, {
    timeout: seconds * 1_000 + LOAD_GRACE_MS,
    killSignal: "SIGKILL",
  });
  const counted = JSON.parse(stdout) as Counted;
  if (counted.other > 0) throw new Error(`${counted.other} messages were not answered well`);
  if (counted.good === 0) throw new Error("no message was answered");
  return counted;
}
