// The simulated receivers: they accept messages unless a fault is active, detect repeats by key, and store what
// they accepted.
import type { Answer, Message } from "../server-under-test.ts";
import type { Flip, Received } from "../comparison.ts";
import type { ReceiverHistory } from "../model/history.ts";
import type { Population } from "./population.ts";

type Group = ReadonlyMap<number, readonly Flip[]>;

export class Receivers {
  readonly received: Received[] = [];
  /** Every accepted message in a form without IDs, for the digest. */
  readonly described: string[] = [];
  /** What group messages have named, by channel. */
  readonly #named = new Set<string>();
  /** Messages that were received again with the same key. */
  repeatCount = 0;
  readonly #histories: readonly ReceiverHistory[];
  readonly #population: Population;
  readonly #keys = new Set<string>();
  /** From this time, every receiver that is not gone accepts everything. */
  #recoveredTrueAt = Infinity;

  constructor({ histories, population }: { histories: readonly ReceiverHistory[]; population: Population }) {
    this.#histories = histories;
    this.#population = population;
  }

  /** Ignores faults after the end of the run. */
  recoverAt(trueAt: number): void {
    this.#recoveredTrueAt = trueAt;
  }

  /** `group`: the flips that a message about several checks names, by check. */
  receive(message: Message, { trueAt, group }: { trueAt: number; group: Group | null }): Answer {
    const channel = this.#population.channelIndexOf(message.channelUuid);
    const history = this.#histories[channel];
    if (history === undefined) throw new Error(`channel ${channel} has no receiver`);
    const at = Math.min(trueAt, this.#recoveredTrueAt);
    if (history.goneTrueAt !== null && history.goneTrueAt < at) return "permanently refused";
    if (at === trueAt && history.failing.some(({ from, to }) => from < at && at < to))
      return "temporarily refused";
    const key = `${channel} ${message.dedupeKey}`;
    if (this.#keys.has(key)) {
      this.repeatCount += 1;
      return "accepted";
    }
    this.#keys.add(key);
    if (group !== null) this.#storeGroup(group, { channel, trueAt });
    this.#store(message, { channel, trueAt });
    this.described.push(`${channel} ${trueAt} ${message.kind} ${this.#contents(message)}`);
    return "accepted";
  }

  #store(message: Message, { channel, trueAt }: { channel: number; trueAt: number }): void {
    if (message.about === "notice") {
      const { from, to } = message.blind;
      this.received.push({ channel, trueAt, about: "notice", blind: { from, to: to ?? Infinity } });
    } else if (message.about === "repeat") {
      const check = this.#population.indexOf(message.checkUuid);
      this.received.push({ channel, trueAt, about: "repeat", check });
    } else if (message.about === "flips") {
      const check = this.#population.indexOf(message.checkUuid);
      const { flips } = message;
      if (flips.length > 0) this.received.push({ channel, trueAt, about: "flips", check, flips });
    }
  }

  /** One message for each check. What names nothing new repeats earlier messages. */
  #storeGroup(group: Group, { channel, trueAt }: { channel: number; trueAt: number }): void {
    for (const [check, named] of group) {
      const keyOf = ({ at, to }: Flip) => `${channel} ${check} ${to} ${at}`;
      const flips = named.filter((flip) => !this.#named.has(keyOf(flip)));
      for (const flip of flips) this.#named.add(keyOf(flip));
      this.received.push(
        flips.length === 0
          ? { channel, trueAt, about: "repeat", check }
          : { channel, trueAt, about: "flips", check, flips },
      );
    }
  }

  #contents(message: Message): string {
    if (message.about === "notice") return `${message.blind.from} ${message.blind.to}`;
    if (message.about === "repeat") return `repeat ${this.#population.indexOf(message.checkUuid)}`;
    if (message.about !== "flips") return "";
    const named = (flips: typeof message.flips) => flips.map(({ at, to }) => `${to} ${at}`).join(",");
    const check = this.#population.indexOf(message.checkUuid);
    return `${check} ${named(message.flips)} ${named(message.corrections)}`;
  }
}
