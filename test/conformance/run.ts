// Which recorded cases can be asked of the program as it is, and a whole replay of them in one dialect.
import type { PostgresServer } from "../support/postgres.ts";
import { loadTopics, type Topic } from "./case-file.ts";
import type { Dialect } from "./dialects.ts";
import { caseClient } from "./http-client.ts";
import { mailClient } from "./mail-client.ts";
import { replay, type Report } from "./replay.ts";
import { startServerUnderTest } from "./server-under-test.ts";

/** Topics that are replayed only when they are named, and why. */
export const SLOW: Readonly<Record<string, string>> = { time: "it waits for deadlines, about two minutes" };

/** What a replay of everything leaves out. */
export const LEFT_OUT: readonly string[] = Object.keys(SLOW);

/** The cases of the topics that are replayed together, of one topic, or those whose name holds a text. */
export function chooseTopics({ only, text }: { only: string | null; text: string }): Topic[] {
  return loadTopics()
    .filter(({ topic }) => (only === null ? !LEFT_OUT.includes(topic) : topic === only))
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
      mail: { domain: server.mail.domain, speak: mailClient(server.mail) },
    });
    const end = server.end();
    if (end !== null) throw new Error(`the program ended during the replay (${end}):\n${server.said()}`);
    return report;
  } finally {
    client.close();
    await server.stop();
  }
}
