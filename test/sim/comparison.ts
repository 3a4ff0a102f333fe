// Compares the received messages with the model, one check at a time. docs/contribute/simulation.md defines the counts.
import type { Alert, CheckVerdict } from "./model/check-model.ts";
import { type Due, dueOf, type Hold } from "./model/due.ts";
import type { NotifyRules, ReceiverHistory, ServerHistory, TimeSpan, Turn } from "./model/history.ts";
import { flappingPlaces, mayBeDelayed, type NotifyContext, type ParentVerdict } from "./model/notify.ts";
import { repeatFindings } from "./model/repeats.ts";
import { DEFAULT_NOTIFY_RULES, TRIED_MS_MIN } from "./model/rules.ts";
import { heldAt } from "./model/silence.ts";

export type Tally = {
  owed: number;
  delivered: number;
  false: number;
  missed: number;
  late: number;
  duplicated: number;
  /** The end of a problem whose beginning was delivered, not delivered. */
  lost: number;
  /** Problems that were over before a message could be sent, because a rule withheld it. No message is owed. */
  dropped: number;
  /** Messages that repeat a problem. */
  repeats: number;
  /** Owed but given up correctly: the receiver was gone or had refused for hours. */
  dead: number;
  /** The number of owed messages that are notices. */
  notices: number;
  /** Deadlines for which both results are correct. */
  doubtful: number;
  /**
   * Deadlines that passed while pings may have been in transit, followed by a ping before this was resolved. They
   * require no notification.
   */
  unseen: number;
};

export type Finding = {
  kind: "false" | "missed" | "late" | "duplicated" | "lost";
  /** Indexes of the affected checks; a notice can affect several. */
  checks: readonly number[];
  channel: number;
  text: string;
};

/** A message that a receiver accepted, once per dedupe key. */
export type Received = { channel: number; trueAt: number } & (
  | { about: "flips"; check: number; flips: readonly Flip[] }
  /** The problem of a check continues. */
  | { about: "repeat"; check: number }
  | { about: "notice"; blind: TimeSpan }
);

export type Flip = { at: number; to: "up" | "down" };

/** A delivery that the server has given up. */
export type GivenUp = { check: number; channel: number } & Flip;

const FINDINGS_MAX = 1_000;

type NoticeOwed = {
  blind: TimeSpan;
  channel: number;
  checks: number[];
  alerts: { alert: Alert; due: Due }[];
};

export class Comparison {
  readonly tally: Tally = {
    owed: 0,
    delivered: 0,
    false: 0,
    missed: 0,
    late: 0,
    duplicated: 0,
    lost: 0,
    dropped: 0,
    repeats: 0,
    dead: 0,
    notices: 0,
    doubtful: 0,
    unseen: 0,
  };
  readonly findings: Finding[] = [];
  readonly #server: ServerHistory;
  readonly #receivers: readonly ReceiverHistory[];
  readonly #notices = new Map<string, NoticeOwed>();

  constructor({ server, receivers }: { server: ServerHistory; receivers: readonly ReceiverHistory[] }) {
    this.#server = server;
    this.#receivers = receivers;
  }

  /** Compares one check. `received` and `givenUp` contain only entries of this check. */
  addCheck(check: {
    index: number;
    channels: readonly number[];
    verdict: CheckVerdict;
    notify?: NotifyRules;
    parents?: readonly ParentVerdict[];
    /** Whether other checks depend on it. */
    isParent?: boolean;
    received: readonly Received[];
    givenUp: readonly GivenUp[];
  }): void {
    const { index, channels, verdict, received, givenUp } = check;
    const { notify = DEFAULT_NOTIFY_RULES, parents = [], isParent = false } = check;
    this.tally.doubtful += verdict.doubtCount;
    this.tally.unseen += verdict.unseenCount;
    const seen = new Set(channels);
    for (const message of received) {
      if (message.about === "notice" || seen.has(message.channel)) continue;
      this.#find("false", {
        checks: [index],
        channel: message.channel,
        text: "sent to a channel of another check",
      });
    }
    for (const channel of channels) {
      const mine = received.filter((message) => message.channel === channel);
      const gone = givenUp.filter((one) => one.channel === channel);
      const context = { notify, parents, server: this.#server };
      this.#addChannel({ index, channel, verdict, context, received: mine, givenUp: gone });
      // With several channels, one may wait for another; in an incident of several checks, for other checks, which
      // may be acknowledged.
      const isAlone = channels.length === 1 && parents.length === 0 && !isParent && !notify.isGrouped;
      this.#addRepeats({ index, channel, verdict, context, received: mine, isAlone });
    }
  }

  #addChannel(of: {
    index: number;
    channel: number;
    verdict: CheckVerdict;
    context: NotifyContext;
    received: readonly Received[];
    givenUp: readonly GivenUp[];
  }): void {
    const { index, channel, verdict, givenUp, context } = of;
    const server = this.#server;
    const receiver = this.#receivers[channel] ?? { failing: [], goneTrueAt: null };
    const notified = notificationTimes(of.received);
    let lateAfterTrueAt = -Infinity;
    /** Whether the channel was notified of the current problem; null if that is not known. */
    let opening: "sent" | "not sent" | "optional" | null = null;
    const { deletedTrueAt } = verdict;
    const flapping = flappingPlaces(verdict.alerts, context.notify);
    for (const [place, alert] of verdict.alerts.entries()) {
      const hold = holdOf(alert, { verdict, place, context });
      const ofAlert = dueOf(alert, { server, receiver, deletedTrueAt, hold });
      // A recovery belongs to the message about the problem.
      const isOfUnsent: boolean = alert.to === "up" && opening === "not sent";
      const isFlapping = flapping.has(place);
      const isOptional: boolean = isFlapping || (alert.to === "up" && opening === "optional");
      const due: Due = isOptional ? { kind: "may" } : isOfUnsent ? { kind: "dropped" } : ofAlert;
      if (alert.to === "notice") {
        // A silenced check may be left out of a notice.
        const isLeftOut = due.kind === "dropped";
        this.#noteNotice(alert, { due: isLeftOut ? { kind: "may" } : due, channel, index });
        continue;
      }
      const key = keyOf(alert.at, alert.to);
      const times = notified.get(key) ?? [];
      notified.delete(key);
      // A message that waits for a retry can delay the next one.
      if (due.kind === "owed") lateAfterTrueAt = Math.max(lateAfterTrueAt, due.lateAfterTrueAt);
      if (alert.to === "down") {
        const isNotSent: boolean = due.kind === "dropped" || (due.kind === "may" && deletedTrueAt === null);
        const unsent: "not sent" | "optional" | null = isNotSent
          ? "not sent"
          : due.kind === "may"
            ? "optional"
            : null;
        opening = times.length > 0 ? "sent" : unsent;
        if (due.kind === "dropped") this.tally.dropped += 1;
        this.#findHeld(times[0], { alert, hold, about: { checks: [index], channel } });
      }
      const isDead = () =>
        givenUp.some((one) => one.at === alert.at && one.to === alert.to) &&
        hasTriedLong(alert.detectedTrueAt, receiver);
      const isLost = alert.to === "up" && opening === "sent";
      this.#judge({
        alert,
        due,
        times,
        lateAfterTrueAt,
        isDead,
        isLost,
        about: { checks: [index], channel },
      });
    }
    for (const [key, times] of notified) {
      for (const trueAt of times) {
        this.#find("false", { checks: [index], channel, text: `${key} received at ${clock(trueAt)}` });
      }
    }
  }

  /** A message that was sent although a rule withheld it. Together with the recovery, it may be sent. */
  #findHeld(
    trueAt: number | undefined,
    {
      alert,
      hold,
      about,
    }: { alert: Alert; hold: Hold | undefined; about: Pick<Finding, "checks" | "channel"> },
  ): void {
    if (trueAt === undefined || hold === undefined || (hold.endsTrueAt ?? Infinity) <= trueAt) return;
    const turn = this.#server.turns.find((one) => one.trueAt === trueAt);
    if (turn === undefined || hold.heldAt(turn) !== "yes") return;
    this.#find("false", {
      ...about,
      text: `${alert.to} ${clock(alert.at)} received at ${clock(trueAt)}, while silenced`,
    });
  }

  /** Repeats: not too soon, only while the problem is neither over, acknowledged nor silenced, and not too late. */
  #addRepeats(of: {
    index: number;
    channel: number;
    verdict: CheckVerdict;
    context: NotifyContext;
    received: readonly Received[];
    isAlone: boolean;
  }): void {
    const { index, channel, verdict, received, context } = of;
    const about = { checks: [index], channel };
    const repeats = received.filter((message) => message.about === "repeat").map(({ trueAt }) => trueAt);
    const notified = notificationTimes(received);
    const receiver = this.#receivers[channel] ?? { failing: [], goneTrueAt: null };
    const flapping = flappingPlaces(verdict.alerts, context.notify);
    const problems = verdict.alerts.flatMap((alert, place) => {
      const [sentTrueAt] = notified.get(keyOf(alert.at, alert.to)) ?? [];
      if (alert.to !== "down" || sentTrueAt === undefined) return [];
      const hold = holdOf(alert, { verdict, place, context });
      const endsTrueAt = Math.min(hold.endsTrueAt ?? Infinity, verdict.deletedTrueAt ?? Infinity);
      const { detectedTrueAt } = alert;
      return [{ detectedTrueAt, sentTrueAt, endsTrueAt, hold, isFlapping: flapping.has(place) }];
    });
    const explained = new Set<number>();
    for (const { isFlapping, ...found } of problems) {
      const { sentTrueAt, endsTrueAt } = found;
      const mine = repeats.filter((trueAt) => sentTrueAt < trueAt && trueAt < endsTrueAt);
      for (const trueAt of mine) explained.add(trueAt);
      const problem = { ...found, repeats: mine, receiver };
      for (const { kind, text } of repeatFindings(problem, { verdict, ...context })) {
        if (kind === "false" || (of.isAlone && !isFlapping)) this.#find(kind, { ...about, text });
      }
    }
    for (const trueAt of repeats) {
      if (explained.has(trueAt)) this.tally.repeats += 1;
      else this.#find("false", { ...about, text: `repeat received at ${clock(trueAt)}, without a problem` });
    }
  }

  /** Compares one expected message with the times at which it was received. */
  #judge(one: {
    alert: Alert;
    due: Due;
    times: readonly number[];
    lateAfterTrueAt: number;
    isDead: () => boolean;
    isLost?: boolean;
    about: Pick<Finding, "checks" | "channel">;
  }): void {
    const { alert, due, times, lateAfterTrueAt, about } = one;
    const what = `${alert.to} ${clock(alert.at)}`;
    const [first, ...more] = times;
    for (const trueAt of more)
      this.#find("duplicated", { ...about, text: `${what}, again at ${clock(trueAt)}` });
    if (first !== undefined && first < alert.earliestTrueAt) {
      const earliest = clock(alert.earliestTrueAt);
      this.#find("false", { ...about, text: `${what} received at ${clock(first)}, before ${earliest}` });
    }
    if (due.kind === "dropped" && first !== undefined) {
      this.#find("false", { ...about, text: `${what} received at ${clock(first)}, but was not to be sent` });
    }
    if (due.kind === "dead") this.tally.dead += 1;
    if (due.kind !== "owed") return;
    this.tally.owed += 1;
    if (first !== undefined) {
      this.tally.delivered += 1;
      if (first > lateAfterTrueAt) {
        const text = `${what} received at ${clock(first)}, after ${clock(lateAfterTrueAt)}`;
        this.#find("late", { ...about, text });
      }
    } else if (one.isDead()) this.tally.dead += 1;
    else
      this.#find(one.isLost === true ? "lost" : "missed", {
        ...about,
        text: `${what}, detected at ${clock(alert.detectedTrueAt)}`,
      });
  }

  #noteNotice(alert: Alert, { due, channel, index }: { due: Due; channel: number; index: number }): void {
    if (alert.blind === null) return;
    const key = noticeKey(channel, alert.blind);
    const known = this.#notices.get(key) ?? { blind: alert.blind, channel, checks: [], alerts: [] };
    known.checks.push(index);
    known.alerts.push({ alert, due });
    this.#notices.set(key, known);
  }

  /** An alert must end in a delivery, or be dropped by a rule that is named. */
  addUnaccounted(alerts: readonly GivenUp[]): void {
    for (const { check, channel, at, to } of alerts) {
      const text = `${to} ${clock(at)} has neither a delivery nor a rule that dropped it`;
      this.#find("missed", { checks: [check], channel, text });
    }
  }

  /** Compares the notices after all checks: one per blind interval and channel. */
  conclude(received: readonly Received[]): void {
    const notified = new Map<string, number[]>();
    for (const message of received) {
      if (message.about !== "notice") continue;
      const key = noticeKey(message.channel, message.blind);
      notified.set(key, [...(notified.get(key) ?? []), message.trueAt]);
    }
    for (const [key, notice] of this.#notices) {
      const times = (notified.get(key) ?? []).toSorted((one, other) => one - other);
      notified.delete(key);
      this.#judgeNotice(notice, times);
    }
    for (const [key, times] of notified) {
      const channel = Number(key.split(" ")[0]);
      for (const trueAt of times) {
        this.#find("false", { checks: [], channel, text: `notice ${key} received at ${clock(trueAt)}` });
      }
    }
  }

  #judgeNotice({ blind, channel, checks, alerts }: NoticeOwed, times: readonly number[]): void {
    const owed = alerts.filter(({ due }) => due.kind === "owed");
    const dead = alerts.filter(({ due }) => due.kind === "dead");
    const [any] = owed.length > 0 ? owed : dead.length > 0 ? dead : alerts;
    if (any === undefined) return;
    // A notice may be sent with its first check or wait for the last one.
    const lates = owed.map(({ due }) => (due.kind === "owed" ? due.lateAfterTrueAt : -Infinity));
    const earliestTrueAt = Math.min(...alerts.map(({ alert }) => alert.earliestTrueAt));
    const receiver = this.#receivers[channel] ?? { failing: [], goneTrueAt: null };
    if (any.due.kind === "owed") this.tally.notices += 1;
    this.#judge({
      alert: { ...any.alert, at: blind.from, earliestTrueAt },
      due: any.due,
      times,
      lateAfterTrueAt: Math.max(...lates),
      isDead: () => hasTriedLong(any.alert.detectedTrueAt, receiver),
      about: { checks, channel },
    });
  }

  #find(kind: Finding["kind"], finding: Omit<Finding, "kind">): void {
    this.tally[kind] += 1;
    if (this.findings.length < FINDINGS_MAX) this.findings.push({ kind, ...finding });
  }
}

/** What withholds or delays a message. The end of a problem is never withheld by a silence. */
function holdOf(
  alert: Alert,
  { verdict, place, context }: { verdict: CheckVerdict; place: number; context: NotifyContext },
): Hold {
  const next = verdict.alerts.slice(place + 1).find(({ to }) => to !== "notice");
  const endedTrueAt = verdict.endedTrueAt.find((trueAt) => trueAt >= alert.detectedTrueAt) ?? Infinity;
  const endsTrueAt = alert.to === "up" ? Infinity : Math.min(next?.detectedTrueAt ?? Infinity, endedTrueAt);
  const problem = { openedAt: alert.changedAt, lastSuccessAt: alert.lastSuccessAt };
  const silenced = (at: number) => (alert.to === "up" ? "no" : heldAt(verdict.silenced, at, problem));
  const ends = new Set([alert.changedAt, ...(next === undefined ? [] : [next.changedAt])].map(silenced));
  const isInside = ends.size > 1 ? "maybe" : ([...ends][0] ?? "no");
  const isSilenced = (turn: Turn) => silenced(turn.at) !== "no";
  const isDelayed = alert.to === "notice" ? () => false : mayBeDelayed(alert, { ...context, isSilenced });
  const ofTurn = (turn: Turn) => {
    const held = silenced(turn.at);
    return held === "no" && isDelayed(turn) ? "maybe" : held;
  };
  return { heldAt: ofTurn, endsTrueAt: endsTrueAt === Infinity ? null : endsTrueAt, isInside };
}

/** When each flip was notified, in the order of the messages. */
function notificationTimes(received: readonly Received[]): Map<string, number[]> {
  const notified = new Map<string, number[]>();
  for (const message of received) {
    if (message.about !== "flips") continue;
    for (const { at, to } of message.flips) {
      const key = keyOf(at, to);
      notified.set(key, [...(notified.get(key) ?? []), message.trueAt]);
    }
  }
  return notified;
}

/** Whether the receiver refused for long enough after the message was due. */
function hasTriedLong(detectedTrueAt: number, { failing, goneTrueAt }: ReceiverHistory): boolean {
  if (goneTrueAt !== null) return true;
  return failing.some(({ from, to }) => from <= detectedTrueAt && to - detectedTrueAt >= TRIED_MS_MIN);
}

function keyOf(at: number, to: string): string {
  return `${to} ${clock(at)}`;
}

function noticeKey(channel: number, { from, to }: TimeSpan): string {
  return `${channel} ${clock(from)} ${clock(to)}`;
}

function clock(at: number): string {
  return Number.isFinite(at) ? new Date(at).toISOString() : String(at);
}
