// Sizes of the mail benchmark: full for figures to keep, small to test that it works.
import type { SizeName } from "../store/sizes.ts";

export type SmtpSize = {
  about: string;
  checks: number;
  connections: number;
  warmUpSeconds: number;
  /** Both servers run once in each round. */
  rounds: number;
  seconds: number;
};

export const SMTP_SIZES: Readonly<Record<SizeName, SmtpSize>> = {
  full: {
    about: "1,000 checks, 500 connections, about a minute",
    checks: 1_000,
    connections: 500,
    warmUpSeconds: 3,
    rounds: 4,
    seconds: 5,
  },
  small: {
    about: "20 checks, 4 connections, a few seconds; its figures mean nothing",
    checks: 20,
    connections: 4,
    warmUpSeconds: 0,
    rounds: 1,
    seconds: 0.5,
  },
};
