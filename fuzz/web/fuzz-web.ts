// Fuzzes the routes of the dashboard in the real process: every request has to be answered or closed within its
// deadline, never with a 5xx, and the process has to stay within its memory.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openSession } from "../../src/operations/sessions.ts";
import { WEB_ROUTES } from "../../src/services/web/routes.ts";
import { insertChannel } from "../../src/store/channels.ts";
import type { Database } from "../../src/store/db.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { freePort } from "../../test/support/ports.ts";
import { sampleAccount, sampleCheck, sampleProject } from "../../test/support/sample.ts";
import { chanceOf } from "../chance.ts";
import { exchangePatiently, isPutOff, isServersFault, outcomeOf } from "../ping/exchange.ts";
import { type FuzzOptions, runFuzz } from "../run.ts";
import { emptyTally, note, RESIDENT_BYTES_MAX } from "../tally.ts";
import { type Actor, webAttempt, type WebTargets } from "./requests.ts";

const MINUTES_MAX = 60;
/** Requests may delete what they are about, so each part of the run has its own users and resources. */
const REQUESTS_PER_CAST = 500;
const ACTORS = 3;
/** A request that is not complete is answered 408 after this. */
const REQUEST_TIMEOUT_SECONDS = 5;
/** The deadline of a request is that of receiving it plus that of responding; a busy machine gets more. */
const CLOSED_WITHIN_MS = 75_000;
const SAID_LENGTH_MAX = 5_000;
const MANIFEST = join(import.meta.dirname, "../../dist/web/.vite/manifest.json");

/** Prints the distribution of responses and a verdict; true when nothing is wrong. */
export async function fuzzWeb(options: FuzzOptions): Promise<boolean> {
  const { seed, triesAgainMax = 0 } = options;
  const isBuilt = existsSync(MANIFEST);
  if (!isBuilt) console.log("The dashboard is not built: its pages may answer 503.");
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const tally = emptyTally();
  return runFuzz(options, {
    name: "web",
    port,
    roles: "ping,api,web",
    settings: {
      OVERDUE_SITE_URL: origin,
      OVERDUE_REQUEST_TIMEOUT: String(REQUEST_TIMEOUT_SECONDS),
    },
    residentBytesMax: RESIDENT_BYTES_MAX,
    minutesMax: MINUTES_MAX,
    tally,
    prepare: async ({ process, db }) => {
      const cast = casting(db, origin);
      const sendOne = async (number: number) => {
        const targets = await cast(Math.floor(number / REQUESTS_PER_CAST));
        const attempt = webAttempt(chanceOf({ seed, number }), targets);
        // A page that is not built is answered 503 forever.
        const isUnbuilt = !isBuilt && !attempt.route.path.startsWith("/web/");
        const result = await exchangePatiently(port, attempt, {
          triesAgainMax: isUnbuilt ? 0 : triesAgainMax,
          closedWithinMs: CLOSED_WITHIN_MS,
        });
        note(tally, attempt.fault, outcomeOf(result));
        if (!isServersFault(result) || (isUnbuilt && isPutOff(result))) return;
        const { name } = attempt.route;
        tally.failures.push(`request ${number} (${name}, ${attempt.fault}): ${JSON.stringify(result)}`);
      };
      const judge = async () => {
        if (tally.failures.length === 0) return;
        console.log(`The process said:\n${process.said().slice(-SAID_LENGTH_MAX)}`);
      };
      return { sendOne, judge };
    },
  });
}

/** The users and resources of each part of a run, created on first use. */
function casting(db: Database, origin: string): (part: number) => Promise<WebTargets> {
  const made = new Map<number, Promise<WebTargets>>();
  const [route, ...routes] = WEB_ROUTES;
  if (route === undefined) throw new Error("there are no routes");
  return (part) => {
    const targets =
      made.get(part) ??
      Promise.all(Array.from({ length: ACTORS }, (_, index) => makeActor(db, index === 0))).then(
        ([actor, ...actors]): WebTargets => {
          if (actor === undefined) throw new Error("there are no actors");
          return { routes: [route, ...routes], origin, actors: [actor, ...actors] };
        },
      );
    made.set(part, targets);
    return targets;
  };
}

async function makeActor(db: Database, isAdmin: boolean): Promise<Actor> {
  const account = await sampleAccount(db, { isAdmin });
  const project = await sampleProject(db, { ownerId: account.id });
  const check = await sampleCheck(db, { projectId: project.id });
  const now = await readDatabaseClock(db);
  const channel = crypto.randomUUID();
  const { token, id } = await inTransaction(db, async (tx) => {
    const config = { url: "https://hooks.example.org/" };
    await insertChannel(tx, {
      uuid: channel,
      projectId: project.id,
      kind: "webhook",
      name: "Hook",
      config,
      createdAt: now,
    });
    return openSession(tx, { accountId: account.id, method: "password", now, ua: "fuzz", remoteAddr: null });
  });
  const names = {
    project: project.uuid,
    check: check.uuid,
    channel,
    account: account.uuid,
    uuid: check.uuid,
    id: String(id),
    delivery: "1",
    n: "1",
    token,
  };
  return { token, names };
}
