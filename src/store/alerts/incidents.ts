// Troubles of the installation that its operator was told of and that last; and since when a message waits that nothing
// hinders. When a trouble begins and ends is decided in core.
import type { Incident, Trouble, TroubleKind } from "../../core/alerts/operator.ts";
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

type IncidentRow = {
  trouble: TroubleKind;
  subject: string;
  since_at: Instant;
  seen_at: Instant;
  said: string;
};

const LIST = statement<IncidentRow>({
  name: "incidents.list",
  text: "select trouble, subject, since_at, seen_at, said from operator_incidents order by trouble, subject",
});

/** All that last. */
export async function listIncidents(db: Db): Promise<Incident[]> {
  return (await db.query(LIST, [])).rows.map((row) => ({
    kind: row.trouble,
    subject: row.subject,
    since: row.since_at,
    seenAt: row.seen_at,
    text: row.said,
  }));
}

const BEGIN = statement({
  name: "incidents.begin",
  text: `insert into operator_incidents (trouble, subject, since_at, seen_at, said) values ($1, $2, $3, $4, $5)
    on conflict do nothing`,
});

/** Notes a trouble. False: somebody else has, and tells. */
export async function beginIncident(tx: Tx, trouble: Trouble & { seenAt: Instant }): Promise<boolean> {
  const { kind, subject, since, seenAt, text } = trouble;
  const { count } = await tx.query(BEGIN, [kind, subject, toTimestamp(since), toTimestamp(seenAt), text]);
  return count === 1;
}

const SEE = statement({
  name: "incidents.see",
  text: "update operator_incidents set seen_at = $3 where trouble = $1 and subject = $2 and seen_at < $3",
});

/** Notes that a trouble lasts. */
export async function seeIncident(
  tx: Tx,
  { kind, subject, seenAt }: Pick<Incident, "kind" | "subject" | "seenAt">,
): Promise<void> {
  await tx.query(SEE, [kind, subject, toTimestamp(seenAt)]);
}

const END = statement({
  name: "incidents.end",
  text: "delete from operator_incidents where trouble = $1 and subject = $2 and seen_at <= $3",
});

/** Forgets a trouble that nobody has seen since. False: somebody has, or tells already that it is over. */
export async function endIncident(
  tx: Tx,
  { kind, subject, seenAt }: Pick<Incident, "kind" | "subject" | "seenAt">,
): Promise<boolean> {
  return (await tx.query(END, [kind, subject, toTimestamp(seenAt)])).count === 1;
}

// A channel that fails, rests at its receiver's wish, is at its limit or was told lately has its reasons.
const FIND_DUE = statement<{ due_at: Instant | null }>({
  name: "incidents.find_due_delivery",
  text: `select min(greatest(d.created_at, d.next_try_at)) as due_at
    from deliveries d join channels ch on ch.id = d.channel_id
    where d.state = 'pending' and d.next_try_at <= $1 and (d.claimed_until_at is null or d.claimed_until_at <= $1)
      and ch.disabled_at is null and ch.failure_count = 0 and (ch.hold_until_at is null or ch.hold_until_at <= $1)
      and (ch.bucket_full_at is null or ch.bucket_full_at <= $1)
      and (ch.last_notify_at is null or ch.last_notify_at < $2)`,
});

/** Since when the oldest message has waited for its try that nothing hinders; null: none does. */
export async function findDueDelivery(
  db: Db,
  { now, toldBefore }: { now: Instant; toldBefore: Instant },
): Promise<Instant | null> {
  return (await db.query(FIND_DUE, [toTimestamp(now), toTimestamp(toldBefore)])).rows[0]?.due_at ?? null;
}
