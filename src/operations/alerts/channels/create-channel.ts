// Makes a channel, once for each name that a client gives to its request.
import { createHash, randomUUID } from "node:crypto";
import {
  type ChannelConfig,
  type ChosenChecks,
  DISABLED_BY_OWNER,
  mayAddChannel,
} from "../../../core/alerts/channel-request.ts";
import { AppError } from "../../../core/errors.ts";
import { CHANNELS_PER_PROJECT_MAX, IDEMPOTENCY_KEYS_MAX } from "../../../core/limits.ts";
import { keptFrom } from "../../../core/retention.ts";
import { insertChannel, updateChannel } from "../../../store/alerts/channels.ts";
import {
  countChannels,
  lockChannelsOfProject,
  type ManagedChannel,
} from "../../../store/alerts/managed-channels.ts";
import type { Database } from "../../../store/db.ts";
import {
  claimIdempotencyKey,
  findIdempotencyKey,
  trimIdempotencyKeys,
} from "../../../store/idempotency-keys.ts";
import type { Tx } from "../../../store/transaction.ts";
import { inRetriedTransaction } from "../../changing/retried.ts";
import {
  askAddress,
  assignChosenChecks,
  auditChannel,
  type Changing,
  getChannel,
  judgedConfig,
  type KindsAndMail,
  permitMembers,
} from "./changing-channels.ts";

/** The name that a client gives to its request, and a text that is the same for the same request only. */
export type Once = { key: string; request: string };

export type CreateChannelRequest = Changing &
  KindsAndMail & {
    projectId: number;
    kind: string;
    name: string;
    /** As it was sent. */
    config: unknown;
    isEnabled: boolean;
    checks: ChosenChecks;
    /** Null: every request makes a channel. */
    once: Once | null;
  };

/** `repeated`: the request had been served before, and nothing was done. */
export type CreatedChannel = {
  kind: "created" | "repeated";
  channel: ManagedChannel;
  /** The secrets that were made for it, by their fields: to be shown now, since nobody can read them later. */
  made: Readonly<Record<string, string>>;
};

/**
 * Makes a channel. AppError `invalid` for what cannot be, `forbidden` beyond the limit of a project, `unprocessable`
 * where a name was given to two different requests, `conflict` where what it made is gone, `rate_limited` when too
 * many addresses were asked, `not_found` without the project.
 */
export function createChannel(database: Database, request: CreateChannelRequest): Promise<CreatedChannel> {
  const { rules, kind } = request;
  const { config, made } = rules.complete(kind, judgedConfig(rules, request));
  const uuid = randomUUID();
  return inRetriedTransaction(database, async (tx) => {
    const { projectId } = request;
    if (!(await lockChannelsOfProject(tx, projectId))) throw new AppError("not_found", "Project not found.");
    const repeated = await repetitionOf(tx, { ...request, uuid });
    if (repeated !== null) return { kind: "repeated", channel: repeated, made: {} };
    await insert(tx, { ...request, uuid, config });
    const channel = await getChannel(tx, { projectId, uuid });
    await auditChannel(tx, { before: null, after: channel, by: request.by, at: request.at });
    return { kind: "created", channel, made };
  });
}

/** What the same request has made before; null when it is served for the first time. */
async function repetitionOf(
  tx: Tx,
  { projectId, once, uuid, at }: Pick<CreateChannelRequest, "projectId" | "once" | "at"> & { uuid: string },
): Promise<ManagedChannel | null> {
  if (once === null) return null;
  const named = { projectId, keyDigest: sha256(once.key), requestDigest: sha256(once.request) };
  const claim = { ...named, channelUuid: uuid, at, keptFrom: keptFrom("idempotencyKey", at) };
  if (await claimIdempotencyKey(tx, claim)) {
    await trimIdempotencyKeys(tx, { projectId, keep: IDEMPOTENCY_KEYS_MAX });
    return null;
  }
  const earlier = await findIdempotencyKey(tx, named);
  if (earlier?.requestDigest.equals(named.requestDigest) !== true) {
    throw new AppError("unprocessable", "The Idempotency-Key was already used for a different request.");
  }
  return getChannel(tx, { projectId, uuid: earlier.channelUuid }).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error;
    throw new AppError("conflict", "The channel created by this request has been deleted.");
  });
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

async function insert(
  tx: Tx,
  request: CreateChannelRequest & { uuid: string; config: ChannelConfig },
): Promise<void> {
  const { projectId, uuid, kind, name, config, isEnabled, checks, mailVerification, at } = request;
  if (!mayAddChannel(await countChannels(tx, projectId))) {
    throw new AppError("forbidden", `A project can have at most ${CHANNELS_PER_PROJECT_MAX} channels.`);
  }
  await permitMembers(tx, { projectId, kind, config });
  const channel = await insertChannel(tx, { uuid, projectId, kind, name, config, createdAt: at });
  if (!isEnabled) {
    await updateChannel(tx, { channelId: channel.id, disabled: { at, reason: DISABLED_BY_OWNER } });
  }
  await assignChosenChecks(tx, { channel, checks });
  await askAddress(tx, { channel, mailVerification, repeat: false, at });
}
