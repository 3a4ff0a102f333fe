// Signals by email while the database crashes, the link is cut and the process is killed: a 250 guarantees the same
// as a 200.
import { setTimeout as sleep } from "node:timers/promises";
import { mailClient, type MailClient } from "../../smtp/client.ts";
import { type Chance, chanceFrom } from "../chance.ts";
import { conclude } from "../conclusion.ts";
import {
  addTallies,
  bySize,
  NO_TALLY,
  type Result,
  type Run,
  type Scenario,
  type Tally,
} from "../scenario.ts";
import type { Target } from "../signals/outgoing.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import { freePort } from "../../support/ports.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { warmUp } from "../stage/warm-up.ts";

type Plan = { rounds: number; senders: number; checks: number };

const PLANS: Record<Run["size"], Plan> = {
  full: { rounds: 6, senders: 12, checks: 100 },
  quick: { rounds: 2, senders: 8, checks: 50 },
  tiny: { rounds: 1, senders: 4, checks: 20 },
};

const DOMAIN = "ping.faults.example";
/** One in this many messages has several recipients, this many. */
const SEVERAL_EVERY = 4;
const SEVERAL = 3;
const START_MS_MAX = 60_000;
const RECONNECT_MS = 50;
/** The corresponding HTTP statuses: recorded, deferred, and no response. */
const STATUS_OF: Readonly<Record<string, number>> = { "250": 200, "421": 0, "450": 503, "451": 503 };

export const mail: Scenario = {
  name: "mail",
  about: "pings by email through a crash of the database, a cut link and kill -9 in the middle of messages",
  run: (run) => {
    const plan = bySize(run, PLANS);
    return onStage(run, { checks: plan.checks }, (stage) => play(stage, plan));
  },
};

async function play(stage: Stage, { rounds, senders }: Plan): Promise<Result> {
  const port = await freePort();
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
  const { messages, acknowledged, slowestMs } = sending;
  const complaints = acknowledged === 0 ? ["no email was acknowledged, so the run proves nothing"] : [];
  const found = await conclude(stage, {
    figures: { messages, mail_acknowledged: acknowledged, mail_slowest_ms: slowestMs, kills: rounds * 3 },
    complaints,
    mayRefuse: () => true,
  });
  const several = await judgeSeveral(stage, sending.several);
  if (several.acknowledged === 0) found.complaints.push("no email to several checks was acknowledged");
  if (several.lost > 0) found.complaints.push(`${several.lost} lost of emails to several checks`);
  if (several.duplicated > 0) found.complaints.push(`${several.duplicated} duplicated of the same`);
  return {
    tally: addTallies(found.tally, several),
    figures: { ...found.figures, several_acknowledged: several.acknowledged },
    complaints: found.complaints,
  };
}

/** A 250 for an email with several recipients acknowledges one signal for each of them. */
async function judgeSeveral(stage: Stage, several: readonly Several[]): Promise<Tally> {
  const rows = await stage.withClient(async (client) => {
    const text =
      "select ua, check_id, count(*)::int as times from pings where ua like $1 group by ua, check_id";
    return (await client.query<SeveralRow>(text, [`${SEVERAL_UA}%`])).rows;
  });
  const times = new Map(rows.map((row) => [`${row.ua} ${row.check_id}`, row.times]));
  const tally = { ...NO_TALLY, recorded: rows.reduce((sum, row) => sum + row.times, 0) };
  tally.duplicated = tally.recorded - rows.length;
  for (const { from, checkIds, status } of several) {
    if (status === 503) tally.refused += checkIds.length;
    if (status !== 200) continue;
    tally.acknowledged += checkIds.length;
    tally.lost += checkIds.filter((id) => !times.has(`Email from ${from} ${id}`)).length;
  }
  return tally;
}

/** A message with several recipients, and its reply. */
type Several = { from: string; checkIds: readonly number[]; status: number };
type SeveralRow = { ua: string; check_id: string; times: number };
const SEVERAL_UA = "Email from several-";

async function killAndRestart(receiver: PingProcess): Promise<void> {
  await receiver.kill();
  receiver.launch();
  await receiver.listening(START_MS_MAX);
}

/** Senders that continue after connection failures. */
class Sending {
  isOver = false;
  messages = 0;
  acknowledged = 0;
  /** The slowest dialogue that ended with a reply: four of them, and a message. */
  slowestMs = 0;
  readonly several: Several[] = [];
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
      while (isAlive && !this.isOver) isAlive = await this.#sendNext(client, chance);
      client.close();
    }
  }

  /** False if the connection cannot be used any more. */
  async #sendNext(client: MailClient, chance: Chance): Promise<boolean> {
    this.messages += 1;
    const { targets } = this.#stage;
    const beganMs = performance.now();
    const status =
      this.messages % SEVERAL_EVERY === 0
        ? await this.#sendSeveral(client, chance.between(0, targets.length - SEVERAL))
        : await this.#sendOne(client, chance.pick(targets));
    if (status !== 0) this.slowestMs = Math.max(this.slowestMs, Math.round(performance.now() - beganMs));
    if (status === 200) this.acknowledged += 1;
    if (status === 503) await client.say("RSET").catch(() => "");
    return status !== 0;
  }

  async #sendOne(client: MailClient, target: Target): Promise<number> {
    const marker = `mail-${this.messages}`;
    const body = bodyOf(marker, this.messages % 50);
    const local = this.messages % 3 === 0 ? `${target.pingKey}+${target.slug}` : target.uuid;
    const sentAt = Date.now();
    const envelope = { from: `faults/${marker}@faults.example`, to: [`${local}@${DOMAIN}`] };
    const status = await statusOf(client.send(body, envelope));
    const { checkId } = target;
    this.#stage.ledger.note({ marker, checkId, kind: "s", rid: null, sentAt, body }, { status });
    return status;
  }

  async #sendSeveral(client: MailClient, first: number): Promise<number> {
    const targets = this.#stage.targets.slice(first, first + SEVERAL);
    const from = `several-${this.messages}@faults.example`;
    const to = targets.map(({ uuid }) => `${uuid}@${DOMAIN}`);
    const status = await statusOf(client.send(bodyOf(from, 10), { from, to }));
    this.several.push({ from, checkIds: targets.map(({ checkId }) => checkId), status });
    return status;
  }
}

function bodyOf(subject: string, lines: number): Buffer {
  return Buffer.from(`Subject: ${subject}\r\n\r\n${"line of a log\r\n".repeat(lines)}`);
}

async function statusOf(sending: Promise<string>): Promise<number> {
  const code = (await sending.catch(() => "421")).slice(0, 3);
  return STATUS_OF[code] ?? Number(code);
}
