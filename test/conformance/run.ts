// Which recorded cases can be asked of the program as it is, and a whole replay of them in one dialect.
import type { PostgresServer } from "../support/postgres.ts";
import { loadTopics, type Topic } from "./case-file.ts";
import type { Dialect } from "./dialects.ts";
import { caseClient } from "./http-client.ts";
import { replay, type Report } from "./replay.ts";
import { startServerUnderTest } from "./server-under-test.ts";

/** Topics that need what is not built yet, and what that is. */
export const LATER: Readonly<Record<string, string>> = {
  smtp: "signals by email",
  time: "the firing of deadlines",
};

/** The cases of the topics that can be replayed, of one of them, or those whose name holds a text. */
export function chooseTopics({ only, text }: { only: string | null; text: string }): Topic[] {
  return loadTopics()
    .filter(({ topic }) => (only === null ? !Object.hasOwn(LATER, topic) : topic === only))
    .map(({ topic, cases }) => ({ topic, cases: cases.filter(({ name }) => name.includes(text)) }))
    .filter(({ cases }) => cases.length > 0);
}

/** Starts the program in a dialect, replays the topics, and stops it. Throws if it does not live through that. */
export async function replayDialect(
  topics: readonly Topic[],
  { postgres, dialect }: { postgres: PostgresServer; dialect: Dialect },
): Promise<Report> {
  const server = await startServerUnderTest({ postgres, dialect });
  const client = caseClient(server.site);
  try {
    const report = await replay(topics, {
      site: server.site,
      dialect,
      makeProject: (setup) => server.makeProject(setup),
      send: (what) => client.send(what),
    });
    const end = server.end();
    if (end !== null) throw new Error(`the program ended during the replay (${end}):\n${server.said()}`);
    return report;
  } finally {
    client.close();
    await server.stop();
  }
}
