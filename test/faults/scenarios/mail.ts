// Signals by mail while the database crashes, the link is cut and the process is killed: a 250 is the same promise as
// a 200.
import { setTimeout as sleep } from "node:timers/promises";
import { mailClient, type MailClient } from "../../smtp/client.ts";
import { chanceFrom } from "../chance.ts";
import { conclude } from "../conclusion.ts";
import { bySize, type Result, type Run, type Scenario } from "../scenario.ts";
import type { Target } from "../signals/outgoing.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import { quietPort } from "../stage/ports.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { warmUp } from "../stage/warm-up.ts";

type Plan = { rounds: number; senders: number; checks: number };

const PLANS: Record<Run["size"], Plan> = {
  full: { rounds: 6, senders: 12, checks: 100 },
  quick: { rounds: 2, senders: 8, checks: 50 },
  tiny: { rounds: 1, senders: 4, checks: 20 },
};

const DOMAIN = "ping.faults.example";
const START_MS_MAX = 60_000;
const RECONNECT_MS = 50;
/** As HTTP says the same: recorded, put off, and no answer at all. */
const STATUS_OF: Readonly<Record<string, number>> = { "250": 200, "421": 0, "450": 503, "451": 503 };

export const mail: Scenario = {
  name: "mail",
  about: "signals by mail through a crash of the database, a cut link and kill -9 in the middle of messages",
  run: (run) => {
    const plan = bySize(run, PLANS);
    return onStage(run, { checks: plan.checks }, (stage) => play(stage, plan));
  },
};

async function play(stage: Stage, { rounds, senders }: Plan): Promise<Result> {
  const port = await quietPort();
  const proxy = await stage.proxy();
  const receiver = await stage.receiver({
    name: "mailed",
    databaseUrl: proxy.urlFor(stage.url),
    environment: {
      OVERDUE_ROLES: "ping,smtp",
      OVERDUE_PING_MAIL_LISTEN: `127.0.0.1:${port}`,
      OVERDUE_PING_MAIL_DOMAIN: DOMAIN,
      OVERDUE_PING_MAIL_PEER_RATE: "0",
    },
  });
  await receiver.start();
  await warmUp(stage, [receiver]);
  const sending = new Sending(stage, port);
  const all = Array.from({ length: senders }, (_, index) => sending.run(index));
  const chance = chanceFrom(stage.run.seed + 2);
  for (let round = 1; round <= rounds; round += 1) {
    await sleep(1_000);
    await killAndRestart(receiver);
    await sleep(1_000);
    proxy.cut();
    await sleep(chance.between(1_500, 3_000));
    await killAndRestart(receiver);
    proxy.heal();
    await sleep(1_000);
    await stage.postgres.crash();
    await sleep(chance.between(1_000, 2_000));
    await receiver.kill();
    await stage.postgres.resume();
    receiver.launch();
    await receiver.listening(START_MS_MAX);
    stage.run.say(`round ${round} of ${rounds}: ${sending.counts()}`);
  }
  await sleep(1_000);
  sending.isOver = true;
  await Promise.all(all);
  const { messages, acknowledged } = sending;
  const complaints = acknowledged === 0 ? ["no mail was acknowledged, so nothing was shown"] : [];
  return conclude(stage, {
    figures: { messages, mail_acknowledged: acknowledged, kills: rounds * 3 },
    complaints,
    mayRefuse: () => true,
  });
}

async function killAndRestart(receiver: PingProcess): Promise<void> {
  await receiver.kill();
  receiver.launch();
  await receiver.listening(START_MS_MAX);
}

/** Senders that go on, whatever becomes of their connections. */
class Sending {
  isOver = false;
  messages = 0;
  acknowledged = 0;
  readonly #stage: Stage;
  readonly #port: number;

  constructor(stage: Stage, port: number) {
    this.#stage = stage;
    this.#port = port;
  }

  counts(): string {
    return `${this.messages} mails, ${this.acknowledged} acknowledged`;
  }

  async run(index: number): Promise<void> {
    const chance = chanceFrom(this.#stage.run.seed + 100 + index);
    while (!this.isOver) {
      const client = await mailClient({ port: this.#port }).catch(() => null);
      if (client === null) {
        await sleep(RECONNECT_MS);
        continue;
      }
      let isAlive = true;
      while (isAlive && !this.isOver) isAlive = await this.#sendOne(client, chance.pick(this.#stage.targets));
      client.close();
    }
  }

  /** False when the connection is of no use any more. */
  async #sendOne(client: MailClient, target: Target): Promise<boolean> {
    this.messages += 1;
    const marker = `mail-${this.messages}`;
    const body = Buffer.from(`Subject: ${marker}\r\n\r\n${"line of a log\r\n".repeat(this.messages % 50)}`);
    const local = this.messages % 3 === 0 ? `${target.pingKey}+${target.slug}` : target.uuid;
    const envelope = { from: `faults/${marker}@faults.example`, to: [`${local}@${DOMAIN}`] };
    const sentAt = Date.now();
    const answer = await client.send(body, envelope).catch(() => "421");
    const status = STATUS_OF[answer.slice(0, 3)] ?? Number(answer.slice(0, 3));
    if (status === 200) this.acknowledged += 1;
    const { checkId } = target;
    this.#stage.ledger.note({ marker, checkId, kind: "s", rid: null, sentAt, body }, { status });
    if (status === 503) await client.say("RSET").catch(() => "");
    return status !== 0;
  }
}
