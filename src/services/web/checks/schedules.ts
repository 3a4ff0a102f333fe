// Other schedules for many checks of a project: all of them at once or, when something fails, none. What they had before
// is told, so that whoever takes the change back asks for that.
import type { ScheduleRequest } from "../../../contract/web/history.ts";
import {
  type ScheduleGroup,
  type SchedulesAnswer,
  SchedulesRequest,
} from "../../../contract/web/requests/checks.ts";
import { BULK_CHECKS_MAX } from "../../../contract/web/requests/sizes.ts";
import type { CheckSettings } from "../../../core/check.ts";
import { rescheduleChecks, type ScheduleParams } from "../../../operations/changing/reschedule.ts";
import { findBulkChecks } from "../../../store/checks/check-rows.ts";
import { projectRoute, WebRefusal, type WebRoute } from "../route.ts";
import { circumstances, NOT_THERE, readChange } from "./commands.ts";
import { overtaken } from "./overtaken.ts";

const schedules = projectRoute({
  name: "set schedules of checks",
  method: "POST",
  path: "/web/api/projects/:project/schedules",
  access: "editChecks",
  body: SchedulesRequest,
  answer: async (ask) => {
    const { house, project, body } = ask;
    const params = paramsOf(body);
    const found = await findBulkChecks(house.database, { uuids: [...params.keys()], projectId: project.id });
    const wanted = new Map(found.map(({ id, uuid }) => [id, params.get(uuid) ?? {}]));
    const rescheduled = await rescheduleChecks(house.database, {
      ...circumstances(ask),
      projectId: project.id,
      wanted,
      ...(body.version !== undefined && { version: body.version }),
    });
    if ("kind" in rescheduled) throw await overtaken(ask, rescheduled);
    const uuids = new Map(found.map(({ id, uuid }) => [id, uuid]));
    const done = rescheduled.map(({ checkId, ...outcome }) => ({ id: uuids.get(checkId) ?? "", ...outcome }));
    const there = new Set(done.map(({ id }) => id));
    const answer: SchedulesAnswer = {
      done: [...there],
      same: done.filter(({ isChanged }) => !isChanged).map(({ id }) => id),
      refused: [...params.keys()].filter((id) => !there.has(id)).map((id) => ({ id, error: NOT_THERE })),
      back: grouped(done.filter(({ isChanged }) => isChanged)),
      version: ask.now,
    };
    return { json: answer };
  },
});

/** What is asked of each check, by its UUID. */
function paramsOf({ groups }: SchedulesRequest): Map<string, ScheduleParams> {
  const params = new Map<string, ScheduleParams>();
  for (const { ids, when } of groups) {
    const wanted = readWhen(when);
    for (const id of ids) {
      if (params.has(id)) throw new WebRefusal("invalid", "A check is listed twice.", "ids");
      params.set(id, wanted);
    }
  }
  if (params.size > BULK_CHECKS_MAX) {
    throw new WebRefusal("invalid", `You can change at most ${BULK_CHECKS_MAX} checks at once.`, "ids");
  }
  return params;
}

/** What belongs to the kind of a schedule: a check keeps its expression when it waits for a period, and the reverse. */
function readWhen({ kind, timeoutSeconds, graceSeconds, schedule, tz }: ScheduleRequest): ScheduleParams {
  if (kind === "simple") return { timeoutSeconds, graceSeconds };
  return readChange({ kind, schedule, tz, graceSeconds }, null).params;
}

/** By what counts of their schedules: those that had the same are one group. */
function grouped(checks: readonly { id: string; before: CheckSettings }[]): ScheduleGroup[] {
  const groups = new Map<string, ScheduleGroup>();
  for (const { id, before } of checks) {
    const { kind, timeoutSeconds, graceSeconds, schedule, tz } = before;
    const when: ScheduleRequest = { kind, timeoutSeconds, graceSeconds, schedule, tz };
    const key = JSON.stringify([graceSeconds, ...(kind === "simple" ? [timeoutSeconds] : [schedule, tz])]);
    const group = groups.get(key) ?? { ids: [], when };
    group.ids.push(id);
    groups.set(key, group);
  }
  return [...groups.values()];
}

export const scheduleRoutes: readonly WebRoute[] = [schedules];
