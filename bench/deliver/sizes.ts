// Sizes of the delivery benchmark: full for figures to keep, small to test that it works.
import type { SizeName } from "../store/sizes.ts";

export type DeliverSize = {
  about: string;
  /** Messages to send, one for each check. */
  deliveries: number;
  /** Channels, each of which gets its share of the messages. */
  channels: number;
  /** The time over which they become due. */
  spreadSeconds: number;
  /** How often the same number is sent at once. */
  burstRounds: number;
};

export const DELIVER_SIZES: Readonly<Record<SizeName, DeliverSize>> = {
  full: {
    about: "10,000 messages to 100 channels, about two minutes",
    deliveries: 10_000,
    channels: 100,
    spreadSeconds: 60,
    burstRounds: 3,
  },
  small: {
    about: "300 messages to 10 channels, a few seconds; its figures mean nothing",
    deliveries: 300,
    channels: 10,
    spreadSeconds: 2,
    burstRounds: 1,
  },
};
