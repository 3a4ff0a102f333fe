// Writes what is owed, in the transaction of what it is about. Which flips are told is decided in core; to which
// channels follows from the rows: the enabled ones of the check, and the members of a group in its place.
import type { Instant, Interval } from "../../core/instant.ts";
import { statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { sqlInstant, toNumberArray, toTimestamp } from "../values.ts";

/** Due at once, whatever becomes of the clock. */
const AT_ONCE = "to_timestamp(0)";

/**
 * The channels behind a channel `ch`, as `target.id`: itself, or the members of a group, disabled ones too. What a
 * group's configuration holds is looked at with care: a row that nobody can read must not make a signal fail.
 */
const TARGETS = `
  left join lateral (
    select m.id
    from jsonb_array_elements_text(
        case when jsonb_typeof(ch.config -> 'members') = 'array' then ch.config -> 'members' else '[]' end
      ) as named (uuid)
      join channels m on m.uuid = case when named.uuid ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
        then named.uuid::uuid end
    where ch.kind = 'group' and m.project_id = ch.project_id and m.kind <> 'group'
  ) as member on true
  cross join lateral (
    select case when ch.kind = 'group' then member.id else ch.id end as id,
      case when ch.kind = 'group' then ch.id end as group_id
  ) as target`;

const OF_CHECK = `
  join check_channels cc on cc.check_id = n.check_id
  join channels ch on ch.id = cc.channel_id and ch.disabled_at is null
  ${TARGETS}`;

const PLAN_FLIPS = statement({
  name: "planning.flips",
  text: `insert into deliveries (kind, dedupe_key, channel_id, group_id, check_id, flip_id, state, created_at,
      attempt_count, next_try_at)
    select 'flip', gen_random_uuid(), target.id, target.group_id, n.check_id, n.flip_id, 'pending', $3::timestamptz,
      0, ${AT_ONCE}
    from unnest($1::bigint[], $2::bigint[]) with ordinality as n (check_id, flip_id, position) ${OF_CHECK}
    where target.id is not null
    order by n.position, target.id, target.group_id
    on conflict do nothing`,
});

/** Owes these flips to the channels of their checks, in this order. */
export async function insertFlipDeliveries(
  tx: Tx,
  { flips, at }: { flips: readonly { checkId: number; flipId: number }[]; at: Instant },
): Promise<void> {
  await tx.query(PLAN_FLIPS, [
    toNumberArray(flips.map(({ checkId }) => checkId)),
    toNumberArray(flips.map(({ flipId }) => flipId)),
    toTimestamp(at),
  ]);
}

// Locked in the order of their ids, as settling does.
const WITHDRAW = statement({
  name: "planning.withdraw",
  text: `with held as (
      select id from deliveries
      where flip_id = any ($1::bigint[]) and kind = 'flip' and state = 'pending' and message_id is null
      order by id for update
    )
    update deliveries d set state = 'withdrawn', settled_at = $2, next_try_at = null,
      reason = 'taken back before it was told'
    from held where d.id = held.id`,
});

const PLAN_CORRECTIONS = statement({
  name: "planning.corrections",
  text: `insert into deliveries (kind, dedupe_key, channel_id, group_id, check_id, flip_id, state, created_at,
      attempt_count, next_try_at)
    select 'correction', gen_random_uuid(), d.channel_id, d.group_id, d.check_id, d.flip_id, 'pending',
      $2::timestamptz, 0, ${AT_ONCE}
    from deliveries d join channels ch on ch.id = d.channel_id and (ch.disabled_at is null or d.group_id is not null)
    where d.flip_id = any ($1::bigint[]) and d.kind = 'flip' and d.state not in ('withdrawn', 'skipped')
      and (d.state in ('sent', 'merged') or d.message_id is not null)
    order by d.id
    on conflict do nothing`,
});

/** Nobody is told any more of flips that were taken back; whoever was told, or may have been, is owed a correction. */
export async function takeBackFlipDeliveries(
  tx: Tx,
  { flipIds, at }: { flipIds: readonly number[]; at: Instant },
): Promise<void> {
  const values = [toNumberArray(flipIds), toTimestamp(at)];
  await tx.query(WITHDRAW, values);
  await tx.query(PLAN_CORRECTIONS, values);
}

const NOTICES = `unnest($1::bigint[], $2::bigint[], $3::bigint[]) as given (check_id, from_ms, to_ms)
  cross join lateral (
    select given.check_id, ${sqlInstant("given.from_ms")} as from_at, ${sqlInstant("given.to_ms")} as to_at
  ) as n`;

// In one order, so that two who owe the same notices do not wait for each other.
const PLAN_NOTICES = statement({
  name: "planning.notices",
  text: `insert into deliveries (kind, dedupe_key, channel_id, group_id, blind_from_at, blind_to_at, state,
      created_at, attempt_count, next_try_at)
    select 'notice', gen_random_uuid(), owed.channel_id, owed.group_id, owed.from_at, owed.to_at, 'pending',
      $4::timestamptz, 0, $5::timestamptz
    from (
      select distinct target.id as channel_id, target.group_id, n.from_at, n.to_at from ${NOTICES} ${OF_CHECK}
      where target.id is not null
    ) as owed
    order by owed.channel_id, owed.from_at, owed.to_at, owed.group_id
    on conflict do nothing`,
});

const ADD_CHECKS = statement({
  name: "planning.add_checks",
  text: `insert into notice_checks (delivery_id, check_id)
    select distinct d.id, n.check_id from ${NOTICES} ${OF_CHECK}
      join deliveries d on d.kind = 'notice' and d.channel_id = target.id and d.blind_from_at = n.from_at
        and d.blind_to_at = n.to_at
    where d.state = 'pending' and d.message_id is null
    on conflict do nothing`,
});

/** Owes one notice for each blind time and channel, from `tellAt` on; a check is added to one that is still there. */
export async function insertNoticeDeliveries(
  tx: Tx,
  given: { notices: readonly { checkId: number; blind: Interval }[]; at: Instant; tellAt: Instant },
): Promise<void> {
  const { notices, at, tellAt } = given;
  const about = [
    toNumberArray(notices.map(({ checkId }) => checkId)),
    toNumberArray(notices.map(({ blind }) => blind.from)),
    toNumberArray(notices.map(({ blind }) => blind.to)),
  ];
  await tx.query(PLAN_NOTICES, [...about, toTimestamp(at), toTimestamp(tellAt)]);
  await tx.query(ADD_CHECKS, about);
}

const PLAN_SAYINGS = statement<{ id: number }>({
  name: "planning.sayings",
  text: `insert into deliveries (kind, dedupe_key, channel_id, about, state, created_at, attempt_count, next_try_at)
    select n.kind, gen_random_uuid(), n.channel_id, n.about, 'pending', $4::timestamptz, 0, ${AT_ONCE}
    from unnest($1::text[], $2::bigint[], $3::jsonb[]) with ordinality as n (kind, channel_id, about, position)
    order by n.position
    returning id`,
});

/** What a message says that no other row tells. */
export type Saying = { channelId: number; kind: "disabled" | "operator"; about: object };

/** Owes messages whose contents are given; returns their ids. */
export async function insertSayings(
  tx: Tx,
  { sayings, at }: { sayings: readonly Saying[]; at: Instant },
): Promise<number[]> {
  const { rows } = await tx.query(PLAN_SAYINGS, [
    sayings.map(({ kind }) => kind),
    sayings.map(({ channelId }) => channelId),
    sayings.map(({ about }) => JSON.stringify(about)),
    toTimestamp(at),
  ]);
  return rows.map(({ id }) => id);
}

const PLAN_TESTS = statement<{ id: number }>({
  name: "planning.tests",
  text: `insert into deliveries (kind, dedupe_key, channel_id, state, created_at, attempt_count, next_try_at)
    select 'test', gen_random_uuid(), target.id, 'pending', $2::timestamptz, 0, ${AT_ONCE}
    from channels ch ${TARGETS}
    where ch.id = $1 and target.id is not null
    order by target.id
    returning id`,
});

/** Owes a test to a channel, or to each member of a group; returns the ids. A disabled channel may be tested, too. */
export async function insertTests(
  tx: Tx,
  { channelId, at }: { channelId: number; at: Instant },
): Promise<number[]> {
  return (await tx.query(PLAN_TESTS, [channelId, toTimestamp(at)])).rows.map(({ id }) => id);
}
