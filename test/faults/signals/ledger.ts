// All signals of a run and their responses: those of the load process, and those that the scenario sent itself.
import { createReadStream, existsSync } from "node:fs";
import { Agent } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Chance, chanceFrom } from "../chance.ts";
import type { Guardian } from "../stage/guardian.ts";
import { type Load, startLoad } from "./load.ts";
import { digestOf, type Outgoing, type SignalMaker, signalMaker, type Target } from "./outgoing.ts";
import { type Entry, send } from "./send.ts";

const SOCKETS_MAX = 64;
const IN_FLIGHT_MAX = 512;

type WithBody = { body: Buffer | null };

export type LoadWish = {
  targets: readonly Target[];
  ports: readonly number[];
  perSecond: number;
  inFlightMax?: number;
};

export class Ledger {
  readonly maker: SignalMaker;
  readonly #folder: string;
  readonly #guardian: Guardian;
  readonly #chance: Chance;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX });
  readonly #own: Entry[] = [];
  readonly #paths: string[] = [];
  readonly #loads: Load[] = [];

  constructor({ folder, guardian, seed }: { folder: string; guardian: Guardian; seed: number }) {
    this.#folder = folder;
    this.#guardian = guardian;
    this.#chance = chanceFrom(seed);
    this.maker = signalMaker({ prefix: "own", chance: this.#chance });
  }

  /** Sends one signal and records its result. */
  async send(signal: Outgoing, port: number, agent = this.#agent): Promise<Entry> {
    const entry = await send(signal, { port, agent });
    this.#own.push(entry);
    return entry;
  }

  /** Records a signal that was not sent by HTTP: it counts as acknowledged unless the status says otherwise. */
  note(
    { body, ...entry }: Pick<Entry, "marker" | "checkId" | "kind" | "rid" | "sentAt"> & WithBody,
    { status = 200 }: { status?: number } = {},
  ): void {
    const digest = body === null ? null : digestOf(body);
    this.#own.push({ ...entry, digest, status, trouble: null, ms: 0, port: 0 });
  }

  /** Starts a load; its ledger counts when it has been stopped. */
  startLoad({ targets, ports, perSecond, inFlightMax = IN_FLIGHT_MAX }: LoadWish): Load {
    const ledgerPath = join(this.#folder, `ledger-${this.#paths.length + 1}.jsonl`);
    this.#paths.push(ledgerPath);
    const prefix = `load${this.#paths.length}`;
    const seed = this.#chance.between(1, 2 ** 31);
    const load = startLoad(
      { targets, ports, perSecond, inFlightMax, prefix, seed, ledgerPath },
      this.#guardian,
    );
    this.#loads.push(load);
    return load;
  }

  async *entries(): AsyncGenerator<Entry> {
    yield* this.#own;
    for (const path of this.#paths.filter((one) => existsSync(one))) {
      for await (const line of createInterface({ input: createReadStream(path) })) {
        if (line !== "") yield JSON.parse(line) as Entry;
      }
    }
  }

  close(): void {
    for (const load of this.#loads) load.abandon();
    this.#agent.destroy();
  }
}
