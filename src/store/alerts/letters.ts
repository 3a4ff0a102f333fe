// Letters: mails that no delivery is about. A row is the record and the queue at once: whoever claims it has it to
// himself until its next try is due.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import { amongOldest } from "../pruning.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

export type LetterKind =
  | "verification"
  | "unverified"
  | "disabled"
  | "report"
  | "reminder"
  | "signIn"
  | "confirm"
  | "changeEmail"
  | "invitation"
  | "transfer"
  | "security";

export type Letter = {
  id: number;
  uuid: string;
  kind: LetterKind;
  /** Set of reports, reminders and what else is for whoever has an account. */
  accountId: number | null;
  /** Set of those about a channel. */
  channelId: number | null;
  about: Readonly<Record<string, unknown>>;
  createdAt: Instant;
  /** Tries that have begun. */
  attemptCount: number;
};

type LetterRow = {
  id: number;
  uuid: string;
  kind: LetterKind;
  account_id: number | null;
  channel_id: number | null;
  about: Record<string, unknown>;
  created_at: Instant;
  attempt_count: number;
};

const COLUMNS = "l.id, l.uuid, l.kind, l.account_id, l.channel_id, l.about, l.created_at, l.attempt_count";

function toLetter(row: LetterRow): Letter {
  return {
    id: row.id,
    uuid: row.uuid,
    kind: row.kind,
    accountId: row.account_id,
    channelId: row.channel_id,
    about: row.about,
    createdAt: row.created_at,
    attemptCount: row.attempt_count,
  };
}

const INSERT = statement({
  name: "letters.insert",
  text: `insert into letters (uuid, kind, account_id, channel_id, about, state, created_at, attempt_count, next_try_at)
    values ($1, $2, $3, $4, $5, 'pending', $6::timestamptz, 0, $6::timestamptz)`,
});

export type NewLetter = Omit<Letter, "id" | "attemptCount">;

/** Owes a letter, from its making on. */
export async function insertLetter(tx: Tx, letter: NewLetter): Promise<void> {
  await tx.query(INSERT, [
    letter.uuid,
    letter.kind,
    letter.accountId,
    letter.channelId,
    JSON.stringify(letter.about),
    toTimestamp(letter.createdAt),
  ]);
}

const CLAIM = statement<LetterRow>({
  name: "letters.claim",
  text: `with due as (
      select id from letters where state = 'pending' and next_try_at <= $1
      order by next_try_at, id limit $2 for update skip locked
    )
    update letters l set claimed_by = $3, next_try_at = $4, attempt_count = l.attempt_count + 1
    from due where l.id = due.id
    returning ${COLUMNS}`,
});

/** Letters that are due, oldest first. Unless they are settled before `untilAt`, they are due again then. */
export async function claimDueLetters(
  tx: Tx,
  claim: { now: Instant; limit: number; claimedBy: string; untilAt: Instant },
): Promise<Letter[]> {
  const values = [toTimestamp(claim.now), claim.limit, claim.claimedBy, toTimestamp(claim.untilAt)];
  const { rows } = await tx.query(CLAIM, values);
  return rows.map(toLetter).toSorted((one, other) => one.id - other.id);
}

const SETTLE = statement({
  name: "letters.settle",
  text: `update letters set state = $3, settled_at = $4, next_try_at = $5, reason = $6, claimed_by = null
    where id = $1 and claimed_by = $2 and state = 'pending'`,
});

export type LetterEnd = {
  letterId: number;
  claimedBy: string;
  state: "pending" | "sent" | "dead";
  /** When it is tried again; set exactly of a pending one. */
  nextTryAt: Instant | null;
  reason: string | null;
  at: Instant;
};

/** Writes down how a try went. False: the claim had run out, and it is somebody else's. */
export async function settleClaimedLetter(tx: Tx, end: LetterEnd): Promise<boolean> {
  const { letterId, claimedBy, state, nextTryAt, reason, at } = end;
  const settledAt = state === "pending" ? null : at;
  const values = [letterId, claimedBy, state, toTimestamp(settledAt), toTimestamp(nextTryAt), reason];
  return (await tx.query(SETTLE, values)).count === 1;
}

const FIND_BY_UUID = statement<LetterRow>({
  name: "letters.find_by_uuid",
  text: `select ${COLUMNS} from letters l where l.uuid = $1`,
});

/** The letter with this UUID, however it ended. */
export async function findLetterByUuid(db: Db, uuid: string): Promise<Letter | null> {
  const { rows } = await db.query(FIND_BY_UUID, [uuid]);
  return rows[0] === undefined ? null : toLetter(rows[0]);
}

const FIND_NEWEST = statement<LetterRow>({
  name: "letters.find_newest",
  text: `select ${COLUMNS} from letters l where l.channel_id = $1 and l.kind = $2 order by l.id desc limit 1`,
});

/** The last letter of a kind that a channel has caused; null: it never has, or nobody remembers. */
export async function findNewestLetter(
  db: Db,
  { channelId, kind }: { channelId: number; kind: LetterKind },
): Promise<Letter | null> {
  const { rows } = await db.query(FIND_NEWEST, [channelId, kind]);
  return rows[0] === undefined ? null : toLetter(rows[0]);
}

const PRUNE = statement({
  name: "letters.prune",
  text: `delete from letters where ${amongOldest("letters", "created_at")}`,
});

/** Looks at the `limit` oldest rows and forgets those from before an instant; returns how many. */
export async function pruneLetters(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}
