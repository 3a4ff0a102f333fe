// What a channel is handed: facts, and no words. Plain data, complete in itself, so that whoever renders it has
// nothing to look up.
import type { CheckSettings } from "../check.ts";
import type { Instant, Interval } from "../instant.ts";
import type { CheckState, Flip, FlipReason } from "../machine/state.ts";
import type { SignalKind } from "../signal.ts";

/** The check as it is when the message is made; enough to present it as JSON, too. */
export type CheckFacts = {
  uuid: string;
  badgeUuid: string;
  projectName: string;
  settings: CheckSettings;
  state: CheckState;
  channelUuids: readonly string[];
  createdAt: Instant;
};

/** The newest ping at the moment that the message speaks of. */
export type LastPing = {
  n: number;
  kind: SignalKind;
  at: Instant;
  exitStatus: number | null;
  durationMs: number | null;
  scheme: string;
  remoteAddr: string | null;
  ua: string;
  /** Bytes that are kept; null when it had no body. */
  bodySize: number | null;
  /** All that is kept, as text; null when there is none, or when it cannot be read just now. */
  body: string | null;
};

/** An alarm by silence that was told, and that a signal received at `takenBackAt` has proved wrong. */
export type TakenBackFlip = Flip & { takenBackAt: Instant };

/** The other checks of the project; `down` is empty where there are more than a message lists. */
export type OtherChecks = {
  total: number;
  downCount: number;
  down: readonly { uuid: string; name: string }[];
};

export type FlipMessage = {
  /** Of several changes the last one that the channel hears of. */
  kind: "down" | "up";
  /** When the message was made. */
  at: Instant;
  check: CheckFacts;
  /** Everything that has happened since the channel was last told, oldest first. Empty in a mere correction. */
  flips: readonly Flip[];
  /** What was told before and was not so. */
  corrections: readonly TakenBackFlip[];
  /** Since when it is as `kind` says, and why. */
  since: Instant;
  reason: FlipReason | "takenBack";
  /** How long the check was down; only where it came up again, and the beginning is known. */
  downtimeMs: number | null;
  lastPing: LastPing | null;
  /** Null when the project has no other check. */
  otherChecks: OtherChecks | null;
};

/** We could not watch, and nothing has come since. No alarm, and every kind says so. */
export type NoticeMessage = {
  kind: "notice";
  at: Instant;
  projectName: string;
  blind: Interval;
  /** The first of them by name. */
  checks: readonly { uuid: string; name: string }[];
  checkCount: number;
};

export type ChannelFacts = { uuid: string; kind: string; name: string };

/** Another channel of the project was disabled, because its receiver refuses for good. */
export type DisabledMessage = {
  kind: "disabled";
  at: Instant;
  projectName: string;
  channel: ChannelFacts;
  reason: string;
};

/** Somebody wants to see whether the channel works. */
export type TestMessage = { kind: "test"; at: Instant; projectName: string; channel: ChannelFacts };

/** To whoever runs the installation: something is the matter with it, or no longer. Its words are finished. */
export type OperatorMessage = {
  kind: "operator";
  at: Instant;
  isOver: boolean;
  /** One word for what is the matter. */
  trouble: string;
  since: Instant;
  title: string;
  text: string;
};

export type AlertMessage = FlipMessage | NoticeMessage | DisabledMessage | OperatorMessage | TestMessage;
