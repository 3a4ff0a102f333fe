// What a path names: where it names two things, both have to be of one project, also for somebody who is in both.
import { expect, test } from "vitest";
import { lookUp } from "../../src/services/web/respond.ts";
import type { Session, WebContext, WebRoute } from "../../src/services/web/route.ts";
import { sampleChannel } from "../support/checks-under-change.ts";
import { useDatabase } from "../support/database.ts";
import { sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const route = { name: "two things", method: "GET", path: "/", access: "view" } as WebRoute;

test("two items of one project are found, of two projects none are, and non-members find nothing", async () => {
  const { db } = database;
  const { id: ownerId } = await sampleAccount(db);
  const [house, garden] = [await sampleProject(db, { ownerId }), await sampleProject(db, { ownerId })];
  const check = await sampleCheck(db, { projectId: house.id });
  const near = await sampleChannel(db, { projectId: house.id, name: "near" });
  const far = await sampleChannel(db, { projectId: garden.id, name: "far" });
  const found = (params: Record<string, string>, accountId = ownerId) =>
    lookUp({ database: db } as WebContext, {
      route,
      params,
      session: { account: { id: accountId }, isProven: false } as Session,
    });
  expect(await found({ project: house.uuid, check: check.uuid })).toMatchObject({
    project: { id: house.id },
    check: { uuid: check.uuid },
    role: "owner",
  });
  expect(await found({ check: check.uuid, channel: near.uuid })).toMatchObject({
    channel: { uuid: near.uuid },
  });
  const absent = { name: "WebRefusal", code: "not_found" };
  await expect(found({ project: garden.uuid, check: check.uuid })).rejects.toMatchObject(absent);
  await expect(found({ project: garden.uuid, channel: near.uuid })).rejects.toMatchObject(absent);
  await expect(found({ check: check.uuid, channel: far.uuid })).rejects.toMatchObject(absent);
  const stranger = await sampleAccount(db);
  await expect(found({ project: house.uuid }, stranger.id)).rejects.toMatchObject(absent);
});
