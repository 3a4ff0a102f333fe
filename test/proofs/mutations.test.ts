// The proofs of fields are proofs: each field of an answer is dropped and renamed, one at a time, between the real
// server and the case that docs/conformance.md names first for it, and that case has to fail each time.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TIMING_FIELDS } from "../../src/contract/check-fields.ts";
import { isSometimesShown } from "../../src/contract/check-schemas.ts";
import { VERSIONS, type VersionColumn } from "../../src/contract/versions.ts";
import { type Case, loadTopics } from "../conformance/case-file.ts";
import { type CaseClient, caseClient } from "../conformance/http-client.ts";
import { mailClient } from "../conformance/mail-client.ts";
import { replayCase, type Stage } from "../conformance/replay.ts";
import { type ServerUnderTest, startServerUnderTest } from "../conformance/server-under-test.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { embeddedPostgres } from "../support/postgres-binaries.ts";
import { SPEC_PROOFS } from "./conformance-page.ts";
import { type Field, type Kind, SPOILINGS, type Spoiling, spoiled } from "./mutation.ts";
import { topicOf } from "./proof.ts";

/** Which ids are fields, of what, and how many there must be. */
const FIELD_IDS: readonly { pattern: RegExp; kind: Kind; names: readonly string[] }[] = [
  { pattern: /^S2\.1-(\w+)$/, kind: "check", names: checkNames(VERSIONS.standard[3]) },
  { pattern: /^S2\.2-(\w+)$/, kind: "ping", names: pingNames(VERSIONS.standard[3]) },
  { pattern: /^S2\.3-(\w+)$/, kind: "flip", names: ["timestamp", "up"] },
  { pattern: /^S2\.4-(\w+)$/, kind: "channel", names: ["id", "name", "kind"] },
  {
    pattern: /^S2\.5-((?:svg|json|shields)3?)$/,
    kind: "badge",
    names: ["svg", "svg3", "json", "json3", "shields", "shields3"],
  },
  { pattern: /^S10-check\.(\w+)$/, kind: "check", names: checkNames(VERSIONS.standard[1]) },
  { pattern: /^S10-ping\.(\w+)$/, kind: "ping", names: pingNames(VERSIONS.standard[1]) },
];

function checkNames(column: VersionColumn): string[] {
  const { checkFields, keyFields } = column;
  const always = checkFields.filter((field) => !isSometimesShown(field, column));
  const byKind = [...TIMING_FIELDS.simple, ...TIMING_FIELDS.scheduled];
  return [...always, ...keyFields.readWrite, ...keyFields.readOnly, ...byKind];
}

function pingNames({ pingFields }: VersionColumn): string[] {
  return [...pingFields, "duration"];
}

type Row = { id: string; field: Field };

const ROWS: readonly Row[] = FIELD_IDS.flatMap(({ pattern, kind }) =>
  Object.keys(SPEC_PROOFS).flatMap((id) => {
    const name = pattern.exec(id)?.[1];
    return name === undefined ? [] : [{ id, field: { kind, name } }];
  }),
);

let postgres: PostgresServer | undefined;
let server: ServerUnderTest | undefined;
let client: CaseClient | undefined;

beforeAll(async () => {
  postgres = await startPostgres({ binaries: embeddedPostgres() });
  server = await startServerUnderTest({ postgres, dialect: "standard" });
  client = caseClient(server.site);
});

afterAll(async () => {
  client?.close();
  await server?.stop();
  await postgres?.stop();
});

const TOPICS = loadTopics();

/** The case that a row names first. */
function provingCase(id: string): Case {
  const [proof] = SPEC_PROOFS[id] ?? [];
  const topic = proof === undefined ? null : topicOf(proof);
  const found = TOPICS.find((one) => one.topic === topic)?.cases.find(({ name }) => name === proof?.title);
  if (found === undefined) throw new Error(`the first proof of ${id} is no recorded case`);
  return found;
}

/** Replays a case, with or without a field spoiled on the way; says how often that happened and what failed. */
async function played(
  one: Case,
  spoil: { field: Field; spoiling: Spoiling } | null,
): Promise<{ spoiledCount: number; failures: number }> {
  if (server === undefined || client === undefined) throw new Error("the server under test is not there");
  const [stageServer, sender] = [server, client];
  let spoiledCount = 0;
  const stage: Stage = {
    site: stageServer.site,
    dialect: "standard",
    mail: { domain: stageServer.mail.domain, speak: mailClient(stageServer.mail) },
    makeProject: (setup) => stageServer.makeProject(setup),
    send: async (what) => {
      const answer = await sender.send(what);
      if (spoil === null || answer.status >= 300) return answer;
      const text = spoiled({ path: what.path, text: answer.body.toString("utf8") }, spoil);
      if (text === null) return answer;
      spoiledCount += 1;
      return { ...answer, body: Buffer.from(text) };
    },
  };
  const { failures } = await replayCase(one, stage);
  return { spoiledCount, failures: failures.length };
}

const sound = new Map<Case, Promise<number>>();

/** How many steps of a case fail as the answers are; many rows share a case. */
function failuresUnspoiled(one: Case): Promise<number> {
  const known = sound.get(one) ?? played(one, null).then(({ failures }) => failures);
  sound.set(one, known);
  return known;
}

describe("Every field of an answer", () => {
  test.each(FIELD_IDS)("of a $kind has an id, as $pattern says", ({ pattern, kind, names }) => {
    const found = ROWS.filter((row) => pattern.test(row.id)).map(({ field }) => field.name);
    expect(found.toSorted(), kind).toEqual(names.toSorted());
  });

  test.each(ROWS)("$id is missed when it is dropped or renamed", async ({ id, field }) => {
    const one = provingCase(id);
    expect(await failuresUnspoiled(one), "with the answers as they are").toBe(0);
    for (const spoiling of SPOILINGS) {
      const { spoiledCount, failures } = await played(one, { field, spoiling });
      expect(spoiledCount, `${spoiling}: it does not occur in "${one.name}"`).toBeGreaterThan(0);
      expect(failures, `${spoiling}: "${one.name}" does not notice`).toBeGreaterThan(0);
    }
  });
});
