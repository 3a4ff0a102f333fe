// The same done to many checks of a project: each by the operation that does it to one, a few at once. One that is
// refused holds up no other, and is told.
import { type BulkAnswer, BulkRequest } from "../../../contract/web/requests/checks.ts";
import { AppError } from "../../../core/errors.ts";
import { pauseCheck, resumeCheck } from "../../../operations/change-check.ts";
import { type Adjustment, adjustCheck } from "../../../operations/changing/adjust-check.ts";
import { binCheck, restoreCheck } from "../../../operations/changing/bin.ts";
import { transferCheck } from "../../../operations/changing/transfer-check.ts";
import type { Project } from "../../../store/accounts/projects.ts";
import { findChannelByUuid } from "../../../store/alerts/channels.ts";
import { findBulkChecks, type BulkCheck } from "../../../store/checks/check-rows.ts";
import { type ProjectAsk, projectRoute, WebRefusal, type WebRoute } from "../route.ts";
import { projectToEnter } from "./change-routes.ts";
import { commandFor, done, NOT_THERE } from "./commands.ts";

/** So many are worked on at once: a request must not take all connections. */
const AT_ONCE = 4;

const bulk = projectRoute({
  name: "change many checks",
  method: "POST",
  path: "/web/api/projects/:project/bulk",
  access: "editChecks",
  body: BulkRequest,
  answer: async (ask) => {
    const { house, project, body } = ask;
    const act = await actOf(ask, body);
    const ids = [...new Set(body.ids)];
    const found = await findBulkChecks(house.database, { uuids: ids, projectId: project.id });
    const checks = new Map(found.map((check) => [check.uuid, check]));
    const answer: BulkAnswer = { done: [], same: [], refused: [] };
    await each(ids, async (id) => {
      const outcome = await outcomeOf(checks.get(id), act);
      if ("error" in outcome) return void answer.refused.push({ id, ...outcome });
      answer.done.push(id);
      if (!outcome.isChanged) answer.same.push(id);
    });
    return { json: answer };
  },
});

/** Whether there was anything to change. */
type Act = (check: BulkCheck) => Promise<{ isChanged: boolean }>;

const CHANGED = { isChanged: true };

/** Does it for each, a few at once. After a fault nothing more is begun, and the fault is told once all have ended. */
export async function each(ids: readonly string[], work: (id: string) => Promise<void>): Promise<void> {
  const waiting = [...ids];
  const worker = async () => {
    try {
      for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) await work(id);
    } finally {
      waiting.length = 0;
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: AT_ONCE }, worker));
  for (const one of ended) if (one.status === "rejected") throw one.reason;
}

/** What is no refusal is a fault, and ends the whole. */
async function outcomeOf(
  check: BulkCheck | undefined,
  act: Act,
): Promise<{ isChanged: boolean } | { error: string }> {
  if (check === undefined) return { error: NOT_THERE };
  try {
    const { isChanged } = await act(check);
    return { isChanged };
  } catch (error) {
    if (error instanceof WebRefusal || error instanceof AppError) return { error: error.message };
    throw error;
  }
}

async function actOf(ask: ProjectAsk, { do: what, ...given }: BulkRequest): Promise<Act> {
  const { database, checkLimitDefault } = ask.house;
  const command = (check: BulkCheck) => commandFor(ask, check);
  switch (what) {
    case "pause":
      return async (check) => {
        done(await pauseCheck(database, command(check)));
        return { isChanged: check.status !== "paused" };
      };
    case "resume":
      return async (check) => {
        // Those that are not paused are as wanted.
        if (check.status !== "paused") return { isChanged: false };
        done(await resumeCheck(database, command(check)));
        return CHANGED;
      };
    case "delete":
      return async (check) => {
        done(await binCheck(database, command(check)));
        return CHANGED;
      };
    case "restore":
      return async (check) => {
        const { checkId: _, ...by } = command(check);
        done(await restoreCheck(database, { ...by, uuid: check.uuid, checkLimitDefault }));
        return CHANGED;
      };
    case "addTag":
    case "removeTag":
      return adjusting(ask, { tag: needed(given.tag, "tag"), isOn: what === "addTag" });
    case "addChannel":
    case "removeChannel": {
      const channel = await ownChannel(ask, needed(given.channel, "channel"));
      return adjusting(ask, { channel, isOn: what === "addChannel" });
    }
    case "move": {
      const { project: to } = await projectToEnter(ask, needed(given.project, "project"));
      return moving(ask, to);
    }
  }
}

function needed(value: string | undefined, field: string): string {
  if (value === undefined) throw new WebRefusal("invalid", `${field} is missing.`, field);
  return value;
}

function adjusting(ask: ProjectAsk, adjustment: Adjustment): Act {
  const { database } = ask.house;
  return async (check) => done(await adjustCheck(database, { ...commandFor(ask, check), adjustment }));
}

async function ownChannel({ house, project }: ProjectAsk, uuid: string): Promise<string> {
  const found = await findChannelByUuid(house.database, uuid);
  if (found?.projectId !== project.id) throw new WebRefusal("invalid", "Channel not found.", "channel");
  return uuid;
}

function moving(ask: ProjectAsk, to: Project): Act {
  const { house, project: from } = ask;
  const { checkLimitDefault } = house;
  return async (check) => {
    done(await transferCheck(house.database, { ...commandFor(ask, check), checkLimitDefault, to, from }));
    return CHANGED;
  };
}

export const bulkRoutes: readonly WebRoute[] = [bulk];
