// The routes about the past of a check, and about what is expected of it.
import {
  EventsFileQuery,
  EventsQuery,
  type EventType,
  ExplainQuery,
  PageQuery,
  ProjectEventsQuery,
  ScheduleRequest,
} from "../../../contract/web/history.ts";
import { accountRoute, checkRoute, projectRoute, type WebRoute } from "../route.ts";
import { pathNumber } from "../serving/path-number.ts";
import { readCheckPage } from "./check-page.ts";
import { readDurations } from "./durations.ts";
import { rangeOf, readEvents, readProjectEvents } from "./events.ts";
import { sendEventsFile } from "./events-file.ts";
import { previewOf } from "./expectation.ts";
import { readExplanation } from "./explain.ts";
import { readReplay } from "./replay.ts";
import { ZONES } from "./zones.ts";
import { readRawBody, readRun } from "./run.ts";
import { readRuns } from "./runs.ts";

export const historyRoutes: readonly WebRoute[] = [
  checkRoute({
    name: "check.page",
    method: "GET",
    path: "/web/api/checks/:check",
    access: "view",
    answer: async ({ house, ...about }) => ({ json: await readCheckPage(house, about) }),
  }),
  checkRoute({
    name: "check.runs",
    method: "GET",
    path: "/web/api/checks/:check/runs",
    access: "view",
    query: PageQuery,
    answer: async ({ house, check, query }) => ({
      json: await readRuns(house, check, { before: query.before ?? null }),
    }),
  }),
  checkRoute({
    name: "check.run",
    method: "GET",
    path: "/web/api/checks/:check/runs/:n",
    access: "view",
    answer: async ({ house, check, params }) => ({
      json: await readRun(house, { check, n: pathNumber(params["n"]) }),
    }),
  }),
  checkRoute({
    name: "check.run.body",
    method: "GET",
    path: "/web/api/checks/:check/runs/:n/body",
    access: "view",
    answer: async ({ house, check, params }) => {
      const n = pathNumber(params["n"]);
      return {
        content: await readRawBody(house, { check, n }),
        type: "application/octet-stream",
        headers: { "content-disposition": `attachment; filename="${check.uuid}-${n}.txt"` },
      };
    },
  }),
  checkRoute({
    name: "check.durations",
    method: "GET",
    path: "/web/api/checks/:check/durations",
    access: "view",
    answer: async ({ house, check, now }) => ({ json: await readDurations(house, { check, now }) }),
  }),
  checkRoute({
    name: "check.events",
    method: "GET",
    path: "/web/api/checks/:check/events",
    access: "view",
    query: EventsQuery,
    answer: async ({ house, check, query }) => ({
      json: await readEvents(house, check, {
        before: query.before ?? null,
        types: typesOf(query),
        signals: query.signals?.split(",") ?? null,
      }),
    }),
  }),
  checkRoute({
    name: "check.explain",
    method: "GET",
    path: "/web/api/checks/:check/explain",
    access: "view",
    query: ExplainQuery,
    answer: async ({ house, check, query }) => ({
      json: await readExplanation(house, { check, flipId: query.flip ?? null }),
    }),
  }),
  checkRoute({
    name: "check.replay",
    method: "POST",
    path: "/web/api/checks/:check/replay",
    access: "view",
    body: ScheduleRequest,
    answer: async ({ house, check, body, now }) => ({
      json: await readReplay(house, { check, wanted: body, now }),
    }),
  }),
  accountRoute({
    name: "schedule.preview",
    method: "POST",
    path: "/web/api/schedule",
    access: "account",
    body: ScheduleRequest,
    answer: async ({ body, now }) => ({ json: previewOf(body, now) }),
  }),
  accountRoute({
    name: "time zones",
    method: "GET",
    path: "/web/api/zones",
    access: "account",
    answer: async () => ({ json: ZONES }),
  }),
  projectRoute({
    name: "project.events",
    method: "GET",
    path: "/web/api/projects/:project/events",
    access: "view",
    query: ProjectEventsQuery,
    answer: async ({ house, project, query }) => ({
      json: await readProjectEvents(house, { ...chosenOf(project.id, query), before: query.before ?? null }),
    }),
  }),
  projectRoute({
    name: "project.events.file",
    method: "GET",
    path: "/web/api/projects/:project/events/file",
    access: "view",
    query: EventsFileQuery,
    answer: async ({ house, project, query }) => {
      const file = { format: query.as, chosen: chosenOf(project.id, query) };
      return { stream: (response) => void sendEventsFile(house, response, file) };
    },
  }),
];

const ALL_TYPES: readonly EventType[] = ["signal", "flip", "event"];

function chosenOf(projectId: number, query: Omit<ProjectEventsQuery, "before">) {
  return { projectId, types: typesOf(query), text: query.text ?? "", ...rangeOf(query) };
}

function typesOf({ types }: { types?: string }): EventType[] {
  const chosen = types?.split(",") ?? ALL_TYPES;
  return ALL_TYPES.filter((type) => chosen.includes(type));
}
