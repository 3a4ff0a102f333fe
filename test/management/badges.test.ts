// GET /badges/: signed addresses of badges, six for each tag of a project.
import { describe, expect, test } from "vitest";
import { badgeSignature } from "../../src/core/badge.ts";
import { hmacSha1, sha1 } from "../../src/lib/secrets.ts";
import { sampleCheck } from "../support/sample.ts";
import { type Player, UNKNOWN_KEY, useCast } from "./cast.ts";

const SECRET = "a secret of the operator's own choice";
const cast = useCast();
const configured = useCast({ settings: { OVERDUE_SECRET_KEY: SECRET } });

const PATH = "/api/v3/badges/";

type Badges = Record<string, Record<string, string>>;
const badgesOf = (json: unknown) => (json as { badges: Badges }).badges;

const sign = ({ project }: Player, given: { tag: string; secret: string }) =>
  badgeSignature({ badgeKey: project.badgeKey, ...given }, { sha1, hmacSha1 });

describe("200", () => {
  test("a project without tags has the overall badges only", async () => {
    const reply = await cast.ask(PATH, { key: cast.stranger.rw });
    const signature = sign(cast.stranger, { tag: "*", secret: cast.secretKey });
    const at = `${cast.site}/badge/${cast.stranger.project.badgeKey}/${signature}`;
    expect([reply.status, reply.json]).toEqual([
      200,
      {
        badges: {
          "*": {
            svg: `${at}-2.svg`,
            svg3: `${at}.svg`,
            json: `${at}-2.json`,
            json3: `${at}.json`,
            shields: `${at}-2.shields`,
            shields3: `${at}.shields`,
          },
        },
      },
    ]);
  });

  test("one entry for each tag, with both kinds of key and in every version", async () => {
    const { id: projectId, badgeKey } = cast.owner.project;
    await sampleCheck(cast.db, { projectId, tags: "db web" });
    await sampleCheck(cast.db, { projectId, tags: " web  db@dc1" });
    await sampleCheck(cast.db, { projectId: cast.mate.project.id, tags: "theirs" });
    const replies = await Promise.all([
      cast.ask(PATH, { key: cast.owner.rw }),
      cast.ask(PATH, { key: cast.owner.ro }),
      cast.ask("/api/v1/badges/", { key: cast.owner.rw }),
      cast.ask("/api/v2/badges", { key: cast.owner.ro }),
    ]);
    const badges = badgesOf(replies[0]?.json);
    expect(Object.keys(badges)).toEqual(["db", "db@dc1", "web", "*"]);
    for (const { json } of replies) expect(json).toEqual({ badges });
    const signature = sign(cast.owner, { tag: "db@dc1", secret: cast.secretKey });
    const at = `${cast.site}/badge/${badgeKey}`;
    expect(badges["db@dc1"]?.["svg3"]).toBe(`${at}/${signature}/db%2540dc1.svg`);
    expect(badges["db@dc1"]?.["shields"]).toBe(`${at}/${signature}-2/db%2540dc1.shields`);
  });

  test("the addresses lead to badges", async () => {
    await sampleCheck(cast.db, { projectId: cast.owner.project.id, tags: "ā a/b 50%" });
    const badges = badgesOf((await cast.ask(PATH, { key: cast.owner.ro })).json);
    for (const url of Object.values(badges).flatMap((of) => Object.values(of))) {
      expect((await fetch(url)).status, url).toBe(200);
    }
  });

  test("a secret in the settings signs in place of the one in the database", async () => {
    const badges = badgesOf((await configured.ask(PATH, { key: configured.owner.rw })).json);
    expect(badges["*"]?.["svg3"]).toContain(`/${sign(configured.owner, { tag: "*", secret: SECRET })}.svg`);
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
});
