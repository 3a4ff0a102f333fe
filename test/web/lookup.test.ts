// A path that names a project and a check: the check must be in that project, even for a user who is a member of both.
import { expect, test } from "vitest";
import { lookUp } from "../../src/services/web/respond.ts";
import type { Session, WebContext, WebRoute } from "../../src/services/web/route.ts";
import { useDatabase } from "../support/database.ts";
import { sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const route = { name: "a project and a check", method: "GET", path: "/", access: "view" } as WebRoute;

test("a check is found in its project, not in another one, and not by non-members", async () => {
  const { db } = database;
  const { id: ownerId } = await sampleAccount(db);
  const [project, other] = [await sampleProject(db, { ownerId }), await sampleProject(db, { ownerId })];
  const check = await sampleCheck(db, { projectId: project.id });
  const found = (params: Record<string, string>, accountId = ownerId) =>
    lookUp({ database: db } as WebContext, {
      route,
      params,
      session: { account: { id: accountId }, isProven: false } as Session,
    });
  expect(await found({ project: project.uuid, check: check.uuid })).toMatchObject({
    project: { id: project.id },
    check: { uuid: check.uuid },
    role: "owner",
  });
  expect(await found({ check: check.uuid })).toMatchObject({ project: { id: project.id } });
  const absent = { name: "WebRefusal", code: "not_found" };
  await expect(found({ project: other.uuid, check: check.uuid })).rejects.toMatchObject(absent);
  const stranger = await sampleAccount(db);
  await expect(found({ project: project.uuid }, stranger.id)).rejects.toMatchObject(absent);
  await expect(found({ check: check.uuid }, stranger.id)).rejects.toMatchObject(absent);
});
