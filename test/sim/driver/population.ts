// The checks and channels of a world in the database, and the operations that users apply to them, with the virtual
// time.
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { CheckParams } from "../../../src/core/check.ts";
import type { Visibility } from "../../../src/core/deadline.ts";
import type { PolicyChange } from "../../../src/core/policy.ts";
import {
  createCheck,
  deleteCheck,
  pauseCheck,
  resumeCheck,
  updateCheck,
} from "../../../src/operations/checks.ts";
import { acknowledgeIncidents } from "../../../src/operations/incidents.ts";
import { updateCheckPolicy } from "../../../src/operations/policies.ts";
import { createSilence, endSilence, updateSilence } from "../../../src/operations/silences.ts";
import { insertChannel } from "../../../src/store/channels.ts";
import type { Database } from "../../../src/store/db.ts";
import { inTransaction } from "../../../src/store/transaction.ts";
import { sampleProject } from "../../support/sample.ts";
import type { NotifyRules, RunRules, Settings, SilenceTimes } from "../model/history.ts";
import { DEFAULT_NOTIFY_RULES, DEFAULT_RUN_RULES } from "../model/rules.ts";
import { CHANNELS_PER_PROJECT, type CheckPlan, projectOf, type SilencePlan } from "../world/world.ts";

type Made = { projectId: number; checkId: number; uuid: string };
type Channel = { id: number; uuid: string; projectId: number };
type Moment = { at: number; visibility: Visibility };

const NO_ACTOR = { accountId: null, keyId: null };
const UNSEEN: Visibility = { watermarkAt: null, blind: [] };

export class Population {
  readonly #database: Database;
  readonly #channels: readonly Channel[];
  readonly #made = new Map<number, Made>();
  /** World indexes by ID and by UUID, including deleted checks. */
  readonly #indexes = new Map<number | string, number>();
  readonly #channelIndexes = new Map<number | string, number>();
  /** UUIDs of checks by name. */
  readonly #uuids = new Map<string, string>();
  readonly #settings = new Map<number, Settings>();
  readonly #silences = new Map<SilencePlan, string>();

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
    const params = { ...paramsOf(plan.settings), tags: plan.tags.join(" ") };
    const request = { params, channels, deriveSlug: false, accountId: null, at };
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
    this.#uuids.set(plan.name, uuid);
    this.#settings.set(index, plan.settings);
    await this.#setPolicy(index, plan, at);
  }

  /** Sets the policy of a new check, unless it has none. */
  async #setPolicy(index: number, { settings, notify, parents }: CheckPlan, at: number): Promise<void> {
    const given = { ...policyOf(settings.rules), ...notifyPolicyOf(notify) };
    const change = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
    if (Object.keys(change).length === 0 && parents.length === 0) return;
    // A parent may have been deleted before.
    const dependsOn = parents.flatMap((name) => this.#uuids.get(name) ?? []);
    const edit = { ...this.#name(index), change, dependsOn, by: NO_ACTOR, expected: null };
    await updateCheckPolicy(this.#database, { ...edit, at, visibility: UNSEEN });
  }

  /** Changes the policy of a check so that its runs are judged by these rules. */
  async #changeRules(index: number, rules: RunRules | null, { at, visibility }: Moment): Promise<void> {
    const edit = { ...this.#name(index), change: policyOf(rules), by: NO_ACTOR, expected: null };
    await updateCheckPolicy(this.#database, { ...edit, at, visibility });
  }

  /** Creates, changes or ends a silence. */
  async silence(plan: SilencePlan, times: SilenceTimes | null, at: number): Promise<void> {
    const projectId = this.#channels[plan.project * CHANNELS_PER_PROJECT]?.projectId ?? 0;
    const uuid = this.#silences.get(plan);
    const by = { by: NO_ACTOR, at };
    if (uuid === undefined) {
      if (times === null) throw new Error("a silence was ended before it was created");
      const once = null;
      const request = { ...requestOf(times), scope: this.#scopeOf(plan.scope) };
      const made = await createSilence(this.#database, { projectId, request, once, ...by });
      this.#silences.set(plan, made.uuid);
    } else if (times === null) {
      await endSilence(this.#database, { projectId, uuid, expected: null, ...by });
    } else {
      const { from: _, ...change } = requestOf(times);
      await updateSilence(this.#database, { projectId, uuid, change, expected: null, ...by });
    }
  }

  #scopeOf(scope: SilencePlan["scope"]): { checks: string[] | null; tag: string | null } {
    if (scope.kind === "all") return { checks: null, tag: null };
    if (scope.kind === "tag") return { checks: null, tag: scope.tag };
    return { checks: scope.names.map((name) => this.#uuids.get(name) ?? name), tag: null };
  }

  async edit(index: number, settings: Settings, { at, visibility }: Moment): Promise<void> {
    const { rules: rulesBefore, ...before } = this.#settings.get(index) ?? settings;
    const { rules, ...rest } = settings;
    this.#settings.set(index, settings);
    const isOfRest = !isDeepStrictEqual(rest, before);
    if (!isDeepStrictEqual(rules, rulesBefore)) {
      if (isOfRest) throw new Error(`an edit of check ${index} changes both its rules and its schedule`);
      return this.#changeRules(index, rules, { at, visibility });
    }
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
    for (const [name, uuid] of this.#uuids) if (uuid === this.uuidOf(index)) this.#uuids.delete(name);
    this.#made.delete(index);
  }

  /** Acknowledges the problem of a check, if there is one. */
  async acknowledge(index: number, at: number): Promise<void> {
    const { projectId } = this.#name(index);
    const chosen = { checkUuids: [this.uuidOf(index) ?? ""] };
    await acknowledgeIncidents(this.#database, { projectId, chosen, by: NO_ACTOR, at });
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

/** Each rule that has its default is not set. */
function policyOf(rules: RunRules | null): PolicyChange {
  const given = rules ?? DEFAULT_RUN_RULES;
  return {
    failures: given.failures.count === 1 ? null : given.failures,
    missed: given.missed === 1 ? null : given.missed,
    recovery: given.recovery === 1 ? null : given.recovery,
    startWithin: given.startWithinSeconds,
    maxRun: given.maxRunSeconds,
    minRun: given.minRunSeconds,
    minGap: given.minGapSeconds,
    early: given.earlySeconds === 0 ? null : given.earlySeconds,
  };
}

function notifyPolicyOf(rules: NotifyRules): PolicyChange {
  const given = (field: keyof NotifyRules) =>
    rules[field] === DEFAULT_NOTIFY_RULES[field] ? null : Number(rules[field]);
  return {
    groupBy: rules.isGrouped ? ["project"] : null,
    dependencyWait: given("dependencyWaitSeconds"),
    groupWait: given("groupWaitSeconds"),
    groupInterval: given("groupIntervalSeconds"),
    reopenWithin: given("reopenWithinSeconds"),
    ackTimeout: given("ackTimeoutSeconds"),
    repeat: given("repeatSeconds"),
  };
}

function requestOf(times: SilenceTimes) {
  const { from, isUntilSuccess: untilSuccess, holdAfterSeconds } = times;
  if (times.kind === "once") return { from, until: times.until, untilSuccess, holdAfterSeconds };
  const { schedule, tz, durationSeconds } = times;
  return { from, schedule, tz, durationSeconds, holdAfterSeconds };
}
