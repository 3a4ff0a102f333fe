// Looks at what a client left behind, in the database and not through the API under test, and waits for what
// arrives a moment later. Bounded: what has not come in time is a complaint.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { listAssignmentsOfChecks } from "../../src/store/channels.ts";
import {
  type CheckWithState,
  findCheckByUuid,
  listChecks,
  type ListedCheck,
} from "../../src/store/checks.ts";
import type { Database } from "../../src/store/db.ts";
import { findBody, listPings, type Ping } from "../../src/store/pings.ts";

const PINGS_MAX = 1_000;
const ARRIVAL_MS_MAX = 20_000;
const ARRIVAL_POLL_MS = 50;

/** A ping with what it said. */
export type SeenPing = Ping & { body: string | null };

export class Effects {
  readonly #database: Database;
  readonly #projectId: number;

  constructor({ database, projectId }: { database: Database; projectId: number }) {
    this.#database = database;
    this.#projectId = projectId;
  }

  /** The check; a complaint when it is not there. */
  async check(uuid: string): Promise<CheckWithState> {
    const check = await this.find(uuid);
    assert.ok(check !== null, `there is no check ${uuid}`);
    return check;
  }

  /** The check, or null. */
  async find(uuid: string): Promise<CheckWithState | null> {
    const check = await findCheckByUuid(this.#database, uuid);
    return check?.projectId === this.#projectId ? check : null;
  }

  /** All checks of the project, oldest first. */
  checks(): Promise<ListedCheck[]> {
    return listChecks(this.#database, { projectId: this.#projectId });
  }

  /** The only check of the project that is called so. */
  async named(name: string): Promise<ListedCheck> {
    const found = (await this.checks()).filter(({ settings }) => settings.name === name);
    const [check] = found;
    assert.ok(check !== undefined && found.length === 1, `${found.length} checks are called ${name}`);
    return check;
  }

  /** UUIDs of the channels that hear of a check, in text order. */
  async channels(uuid: string): Promise<string[]> {
    const { id } = await this.check(uuid);
    const assignments = await listAssignmentsOfChecks(this.#database, [id]);
    return assignments.map(({ channelUuid }) => channelUuid).toSorted();
  }

  /** What a check has received, oldest first. */
  async pings(uuid: string): Promise<SeenPing[]> {
    const { id } = await this.check(uuid);
    const pings = await listPings(this.#database, { checkId: id, afterN: 0, limit: PINGS_MAX });
    const seen: SeenPing[] = [];
    for (const ping of pings.toReversed()) {
      const kept = await findBody(this.#database, { checkId: id, n: ping.n });
      seen.push({ ...ping, body: kept?.body?.toString("utf8") ?? null });
    }
    return seen;
  }

  /** The same, once there are so many of them. */
  async pingsOnceThereAre(count: number, uuid: string): Promise<SeenPing[]> {
    const deadline = performance.now() + ARRIVAL_MS_MAX;
    for (;;) {
      const pings = await this.pings(uuid);
      if (pings.length >= count || performance.now() > deadline) return pings;
      await sleep(ARRIVAL_POLL_MS);
    }
  }

  /** Demands that a check has received exactly this, in this order: "start GET, success POST". */
  async expectPings(uuid: string, wanted: string): Promise<SeenPing[]> {
    const pings = await this.pingsOnceThereAre(wanted.split(", ").length, uuid);
    const received = pings.map(({ kind, method }) => `${kind} ${method}`).join(", ");
    assert.equal(received, wanted, "what the check has received");
    return pings;
  }

  /** Demands the stored status of a check. */
  async expectStatus(uuid: string, status: CheckWithState["state"]["status"]): Promise<void> {
    assert.equal((await this.check(uuid)).state.status, status, "the status of the check");
  }
}
