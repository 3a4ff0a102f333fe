// The checks and channels of a world in the database, and the operations that users apply to them, with the virtual
// time.
import { randomUUID } from "node:crypto";
import type { CheckParams } from "../../../src/core/check.ts";
import type { Visibility } from "../../../src/core/deadline.ts";
import {
  createCheck,
  deleteCheck,
  pauseCheck,
  resumeCheck,
  updateCheck,
} from "../../../src/operations/checks.ts";
import { insertChannel } from "../../../src/store/channels.ts";
import type { Database } from "../../../src/store/db.ts";
import { inTransaction } from "../../../src/store/transaction.ts";
import { sampleProject } from "../../support/sample.ts";
import type { Settings } from "../model/history.ts";
import { CHANNELS_PER_PROJECT, type CheckPlan, projectOf } from "../world/world.ts";

type Made = { projectId: number; checkId: number; uuid: string };
type Channel = { id: number; uuid: string; projectId: number };
type Moment = { at: number; visibility: Visibility };

const UNSEEN: Visibility = { watermarkAt: null, blind: [] };

export class Population {
  readonly #database: Database;
  readonly #channels: readonly Channel[];
  readonly #made = new Map<number, Made>();
  /** World indexes by ID and by UUID, including deleted checks. */
  readonly #indexes = new Map<number | string, number>();
  readonly #channelIndexes = new Map<number | string, number>();

  constructor(database: Database, channels: readonly Channel[]) {
    this.#database = database;
    this.#channels = channels;
    for (const [index, { id, uuid }] of channels.entries()) {
      this.#channelIndexes.set(id, index).set(uuid, index);
    }
  }

  /** Creates projects with channels, without checks. */
  static async make(database: Database, { channelCount, at }: { channelCount: number; at: number }) {
    const channels: Channel[] = [];
    let projectId = 0;
    for (let number = 0; number < channelCount; number += 1) {
      if (number % CHANNELS_PER_PROJECT === 0) {
        ({ id: projectId } = await sampleProject(database, { createdAt: at }));
      }
      const channel = { uuid: randomUUID(), projectId, kind: "webhook", name: `r${number}`, createdAt: at };
      const config = { url: `http://receiver-${number}.example/` };
      channels.push(await inTransaction(database, (tx) => insertChannel(tx, { ...channel, config })));
    }
    return new Population(database, channels);
  }

  /** The UUID of a check; undefined before it is created and after it is deleted. */
  uuidOf(index: number): string | undefined {
    return this.#made.get(index)?.uuid;
  }

  /** The world index of a check, by its ID or UUID. */
  indexOf(check: number | string): number {
    const index = this.#indexes.get(check);
    if (index === undefined) throw new Error(`unknown check: ${check}`);
    return index;
  }

  channelIndexOf(channel: number | string): number {
    const index = this.#channelIndexes.get(channel);
    if (index === undefined) throw new Error(`unknown channel: ${channel}`);
    return index;
  }

  async create(index: number, plan: CheckPlan, at: number): Promise<void> {
    const channels = plan.channels.map((channel) => this.#channels[channel]?.uuid ?? "").join(",");
    const projectId = this.#channels[projectOf(plan) * CHANNELS_PER_PROJECT]?.projectId ?? 0;
    const request = { params: paramsOf(plan.settings), channels, deriveSlug: false, accountId: null, at };
    const made = await createCheck(this.#database, {
      ...request,
      projectId,
      projectUuid: randomUUID(),
      unique: [],
      checkLimitDefault: null,
      visibility: UNSEEN,
    });
    if (made.kind !== "created") throw new Error(`a check could not be made: ${JSON.stringify(made)}`);
    const { id: checkId, uuid } = made.check;
    this.#made.set(index, { projectId, checkId, uuid });
    this.#indexes.set(checkId, index).set(uuid, index);
  }

  async edit(index: number, settings: Settings, { at, visibility }: Moment): Promise<void> {
    const edit = {
      params: paramsOf(settings),
      channels: null,
      deriveSlug: false,
      accountId: null,
      at,
      visibility,
    };
    const done = await updateCheck(this.#database, { ...this.#name(index), ...edit });
    if (done.kind !== "updated") throw new Error(`an edit failed: ${JSON.stringify(done)}`);
  }

  /** Resuming a check that is not paused is refused; this is expected. */
  async command(index: number, what: "pause" | "resume", { at, visibility }: Moment): Promise<void> {
    const command = { ...this.#name(index), at, visibility, accountId: null };
    await (what === "pause" ? pauseCheck(this.#database, command) : resumeCheck(this.#database, command));
  }

  async delete(index: number): Promise<void> {
    await deleteCheck(this.#database, this.#name(index));
    this.#made.delete(index);
  }

  #name(index: number) {
    const made = this.#made.get(index);
    if (made === undefined) throw new Error(`check ${index} does not exist`);
    return { projectId: made.projectId, checkId: made.checkId };
  }
}

function paramsOf(settings: Settings): CheckParams {
  const { graceSeconds, manualResume } = settings;
  if (settings.kind === "simple") {
    return { timeoutSeconds: settings.periodSeconds, graceSeconds, manualResume };
  }
  return { schedule: settings.schedule, tz: settings.tz, graceSeconds, manualResume };
}
