// Answers the steps that go through the Management API as long as that is not served: changes are made by the
// operations that it will call, reads come from the store. What neither can answer is left to be skipped.
import { randomUUID } from "node:crypto";
import type { Instant } from "../../src/core/instant.ts";
import type { Sight } from "../../src/core/machine/deadline.ts";
import { type CheckRequest, readCheckRequest, requestObject } from "../../src/core/request/check-params.ts";
import { HTTP_STATUS, type ErrorCode } from "../../src/core/errors.ts";
import {
  createCheck,
  deleteCheck,
  pauseCheck,
  resumeCheck,
  updateCheck,
} from "../../src/operations/change-check.ts";
import { createAccount } from "../../src/operations/create-account.ts";
import { createProject } from "../../src/operations/create-project.ts";
import { insertChannel } from "../../src/store/alerts/channels.ts";
import { listAssignmentsOfChecks } from "../../src/store/alerts/check-channels.ts";
import { listChecks } from "../../src/store/checks/check-search.ts";
import { type CheckWithState, findCheckByUuid } from "../../src/store/checks/checks.ts";
import type { Database } from "../../src/store/db.ts";
import { findBody } from "../../src/store/history/ping-bodies.ts";
import { listPings } from "../../src/store/history/pings.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { findProjectByUuid } from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import type { Setup } from "./case-file.ts";
import { checkFields, pingFields, type ShownCheck } from "./check-fields.ts";
import type { FilledRequest } from "./http-server-under-test.ts";
import type { ProjectUnderTest, Reply } from "./replay.ts";

const CREATED = 201;
const OK = 200;
const PINGS_MAX = 100;
/** What version 3 of the API allows in a request. */
const RULES = {
  slugParam: true,
  deriveSlug: false,
  keywordParams: true,
  oncalendar: true,
  uniqueFields: ["name", "slug", "tags", "timeout", "grace"],
} as const;
/** Nobody can tell what has been received: no deadline fires through an edit. */
const SIGHT: Sight = { watermarkAt: null, blind: [] };

const CHECKS = "/api/v3/checks/";
const UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const OF_CHECK = new RegExp(`^${CHECKS}(?<uuid>${UUID})(?<rest>/.*)?$`);
const BODY = /^\/pings\/(?<n>[1-9]\d{0,8})\/body$/;

type Asked = { projectId: number; body: Buffer | null; at: Instant };

/** Makes projects, and answers for them. */
export class OperationsUnderTest {
  readonly #database: Database;
  readonly #site: string;
  /** Ids of projects by their read-write keys. */
  readonly #projects = new Map<string, number>();

  constructor({ database, site }: { database: Database; site: string }) {
    this.#database = database;
    this.#site = site;
  }

  /** A fresh project of a fresh account. */
  async newProject(setup: Setup): Promise<ProjectUnderTest> {
    const { channels = [], check_limit: checkLimit = null } = setup;
    const now = await readDatabaseClock(this.#database);
    const owner = { email: `${randomUUID()}@example.org`, name: "", isOperator: false, checkLimit, now };
    const { id: ownerId } = await createAccount(this.#database, owner);
    // The server under test never reads these keys, so it does not matter what they are hashed with.
    const made = await createProject(this.#database, { ownerId, name: "Case", secretKey: randomUUID(), now });
    const project = await findProjectByUuid(this.#database, made.uuid);
    if (project === null) throw new Error("the project that was just made is not there");
    this.#projects.set(made.apiKey, project.id);
    const channelUuids: string[] = [];
    for (const { kind, name } of channels) {
      const channel = { uuid: randomUUID(), projectId: project.id, kind, name, config: {}, createdAt: now };
      await inTransaction(this.#database, (tx) => insertChannel(tx, channel));
      channelUuids.push(channel.uuid);
    }
    return { ...made, channelUuids };
  }

  /** The answer to a request with a read-write key of one of the projects; others are skipped. */
  async answer({ method, path, headers, body }: FilledRequest): Promise<Reply> {
    const projectId = this.#projects.get(headers["X-Api-Key"] ?? "");
    if (projectId === undefined) return "skipped";
    const asked = { projectId, body, at: await readDatabaseClock(this.#database) };
    if (path === CHECKS && method === "POST") return this.#create(asked);
    if (path === CHECKS && method === "GET") return this.#list(asked);
    const { uuid, rest = "" } = OF_CHECK.exec(path)?.groups ?? {};
    if (uuid === undefined) return "skipped";
    switch (`${method} ${rest}`) {
      case "GET ":
        return this.#read(uuid, asked);
      case "POST ":
        return this.#update(uuid, asked);
      case "POST /pause":
        return this.#changed(
          await pauseCheck(this.#database, { ...asked, uuid, accountId: null, sight: SIGHT }),
          asked,
        );
      case "POST /resume":
        return this.#changed(
          await resumeCheck(this.#database, { ...asked, uuid, accountId: null, sight: SIGHT }),
          asked,
        );
      case "DELETE ":
        return this.#changed(await deleteCheck(this.#database, { ...asked, uuid }), asked);
      case "GET /pings/":
        return this.#listPings(uuid, asked);
      default: {
        const n = method === "GET" ? BODY.exec(rest)?.groups?.["n"] : undefined;
        return n === undefined ? "skipped" : this.#readBody(uuid, { ...asked, n: Number(n) });
      }
    }
  }

  async #create(asked: Asked): Promise<Reply> {
    const request = understood(asked.body);
    if (typeof request === "string") return refusal("invalid", request);
    const edit = { ...request, ...asked, deriveSlug: false, accountId: null, sight: SIGHT };
    const done = await createCheck(this.#database, { ...edit, checkLimitDefault: null });
    return this.#changed(done, asked);
  }

  async #update(uuid: string, asked: Asked): Promise<Reply> {
    const request = understood(asked.body);
    if (typeof request === "string") return refusal("invalid", request);
    const edit = { ...request, ...asked, deriveSlug: false, accountId: null, sight: SIGHT };
    return this.#changed(await updateCheck(this.#database, { ...edit, uuid }), asked);
  }

  #changed(done: Done, { at }: Asked): Reply {
    if (!("check" in done)) {
      // How a check that is not there, or belongs to others, is told is for the API to decide.
      return done.kind === "refused" ? refusal(done.code, done.text) : "skipped";
    }
    const shown = { check: done.check, channelUuids: done.check.channelUuids };
    return partial(done.kind === "created" ? CREATED : OK, checkFields(shown, { site: this.#site, now: at }));
  }

  async #find(uuid: string, { projectId }: Asked): Promise<CheckWithState | null> {
    const check = await findCheckByUuid(this.#database, uuid);
    return check?.projectId === projectId ? check : null;
  }

  async #read(uuid: string, asked: Asked): Promise<Reply> {
    const check = await this.#find(uuid, asked);
    if (check === null) return "skipped";
    return partial(OK, checkFields(await this.#withChannels(check), { site: this.#site, now: asked.at }));
  }

  async #list({ projectId, at }: Asked): Promise<Reply> {
    const checks: unknown[] = [];
    for (const check of await listChecks(this.#database, { projectId })) {
      checks.push(checkFields(await this.#withChannels(check), { site: this.#site, now: at }));
    }
    return partial(OK, { checks });
  }

  async #withChannels(check: CheckWithState): Promise<ShownCheck> {
    const assigned = await listAssignmentsOfChecks(this.#database, [check.id]);
    return { check, channelUuids: assigned.map(({ channelUuid }) => channelUuid) };
  }

  async #listPings(uuid: string, asked: Asked): Promise<Reply> {
    const check = await this.#find(uuid, asked);
    if (check === null) return "skipped";
    const pings = await listPings(this.#database, { checkId: check.id, afterN: 0, limit: PINGS_MAX });
    const place = { site: this.#site, checkUuid: uuid };
    return partial(OK, { pings: pings.map((ping) => pingFields(ping, place)) });
  }

  async #readBody(uuid: string, asked: Asked & { n: number }): Promise<Reply> {
    const check = await this.#find(uuid, asked);
    const found = check === null ? null : await findBody(this.#database, { checkId: check.id, n: asked.n });
    if (found === null || found.body === null) return "skipped";
    return { answer: { status: OK, headers: {}, body: found.body }, completeness: "partial" };
  }
}

type Done = Awaited<
  ReturnType<
    typeof createCheck | typeof updateCheck | typeof pauseCheck | typeof resumeCheck | typeof deleteCheck
  >
>;

/** What a request asks for, or the text of its first problem. */
function understood(body: Buffer | null): CheckRequest | string {
  const object = requestObject(JSON.parse(body?.toString("utf8") ?? "null") as unknown);
  if (!object.ok) return object.text;
  const read = readCheckRequest(object.value, RULES);
  return read.ok ? read.value : read.text;
}

function partial(status: number, json: unknown): Reply {
  const body = Buffer.from(JSON.stringify(json));
  return { answer: { status, headers: {}, body }, completeness: "partial" };
}

function refusal(code: ErrorCode, text: string): Reply {
  return partial(HTTP_STATUS[code], { error: text });
}
