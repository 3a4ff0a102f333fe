// The receivers of a world: they take what they are sent unless the plan has them fail, tell repeats by their key,
// and keep what they took. Counting happens here, because only what arrived was delivered.
import type { Answer, Message } from "../server-under-test.ts";
import type { Received } from "../comparison.ts";
import type { ReceiverHistory } from "../model/history.ts";
import type { Population } from "./population.ts";

export class Receivers {
  readonly received: Received[] = [];
  /** Messages that came again with the same key. */
  repeatCount = 0;
  readonly #histories: readonly ReceiverHistory[];
  readonly #population: Population;
  readonly #keys = new Set<string>();
  /** From here on whoever is not gone takes everything. */
  #recoveredTrueAt = Infinity;

  constructor({ histories, population }: { histories: readonly ReceiverHistory[]; population: Population }) {
    this.#histories = histories;
    this.#population = population;
  }

  /** The world is over, and what the plan says of later times has never been. */
  recoverAt(trueAt: number): void {
    this.#recoveredTrueAt = trueAt;
  }

  take(message: Message, trueAt: number): Answer {
    const channel = this.#population.channelIndexOf(message.channelUuid);
    const history = this.#histories[channel];
    if (history === undefined) throw new Error(`nobody stands behind channel ${channel}`);
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
    this.#keep(message, { channel, trueAt });
    return "accepted";
  }

  #keep(message: Message, { channel, trueAt }: { channel: number; trueAt: number }): void {
    if (message.about === "notice") {
      const { from, to } = message.blind;
      this.received.push({ channel, trueAt, about: "notice", blind: { from, to: to ?? Infinity } });
    } else if (message.about === "flips") {
      const check = this.#population.indexOf(message.checkUuid);
      const { flips } = message;
      if (flips.length > 0) this.received.push({ channel, trueAt, about: "flips", check, flips });
    }
  }
}
