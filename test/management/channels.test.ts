// GET /channels/: the integrations of a project, without what they keep secret.
import { describe, expect, test } from "vitest";
import { UNKNOWN_KEY, useCast } from "./cast.ts";

const cast = useCast();
const dialect = useCast({ dialect: "healthchecks" });

const PATH = "/api/v3/channels/";

describe("200", () => {
  test("a project without integrations has an empty list", async () => {
    const reply = await cast.ask(PATH, { key: cast.stranger.rw });
    expect([reply.status, reply.json]).toEqual([200, { channels: [] }]);
  });

  test("id, name and kind of each, oldest first, in every version; nothing of other projects", async () => {
    const made = [
      await cast.channel(cast.owner, { name: "Ops", kind: "email" }),
      await cast.channel(cast.owner, { name: "", kind: "sms" }),
      await cast.channel(cast.owner, { name: " Dežūra 😀 ", kind: "slack" }),
    ];
    await cast.channel(cast.mate, { name: "theirs", kind: "email" });
    for (const version of [1, 2, 3]) {
      const reply = await cast.ask(`/api/v${version}/channels/`, { key: cast.owner.rw });
      expect(reply.json).toEqual({
        channels: made.map(({ uuid, name, kind }) => ({ id: uuid, name, kind })),
      });
      expect(reply.text).not.toContain("s3cret");
    }
  });

  test("the final slash does not matter", async () => {
    expect((await cast.ask(PATH.slice(0, -1), { key: cast.owner.rw })).status).toBe(200);
  });
});

describe("401", () => {
  test.each([
    ["no key", undefined, "missing api key"],
    ["a key that nobody has", UNKNOWN_KEY, "wrong api key"],
  ])("%s", async (_, key, error) => {
    const reply = await cast.ask(PATH, key === undefined ? {} : { key });
    expect([reply.status, reply.json]).toEqual([401, { error }]);
  });

  test("a read-only key, in the other dialect", async () => {
    const reply = await dialect.ask(PATH, { key: dialect.owner.ro });
    expect([reply.status, reply.json]).toEqual([401, { error: "wrong api key" }]);
  });
});

describe("403", () => {
  test("a read-only key", async () => {
    const reply = await cast.ask(PATH, { key: cast.owner.ro });
    expect([reply.status, reply.json]).toEqual([403, { error: "wrong api key" }]);
  });
});

describe("404", () => {
  test("there is no address for one of them", async () => {
    const { uuid } = await cast.channel(cast.owner, { name: "one", kind: "email" });
    const reply = await cast.ask(PATH + uuid, { key: cast.owner.rw });
    expect([reply.status, reply.json]).toEqual([404, { error: "not found" }]);
  });
});
