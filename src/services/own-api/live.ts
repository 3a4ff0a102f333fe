// The event stream of a project, and the same by polling for clients that cannot hold a stream.
import { LiveQuery } from "../../contract/api/checks.ts";
import { MINUTE_MS } from "../../core/instant.ts";
import { noteVisit } from "../../operations/sessions.ts";
import { readSnapshot } from "../../store/check-lists.ts";
import { findProjectEntry } from "../../store/projects.ts";
import { changesSince, eventText, openWatcher, type Watcher } from "./live-hub.ts";
import { type ProjectRequest, projectRoute, WebRefusal, type WebRoute } from "../web/route.ts";

/** So often it is asked whether the session has grown too old; whether it was ended, every look of the hub asks. */
const ALLOWED_EVERY_MS = MINUTE_MS;

const changes = projectRoute({
  name: "changes",
  method: "GET",
  path: "/web/api/projects/:project/changes",
  access: "view",
  query: LiveQuery,
  answer: async ({ context, project, query, now }) => {
    const { after } = query;
    const since = after === undefined ? (await readSnapshot(context.database)).xmin : Number(after);
    return { json: await changesSince(context.database, { projectId: project.id, since, now }) };
  },
});

const live = projectRoute({
  name: "live",
  method: "GET",
  path: "/web/api/projects/:project/live",
  access: "view",
  query: LiveQuery,
  answer: async (request) => {
    const { context, account, session, project, query, headers } = request;
    const refusal = context.live.refusalFor(account.id);
    if (refusal !== null) throw new WebRefusal("rate_limited", refusal);
    // Read before joining, so that the first look of the hub begins no later than this.
    const { xmin } = await readSnapshot(context.database);
    const resumed = headers["last-event-id"];
    const after = typeof resumed === "string" && /^\d{1,15}$/.test(resumed) ? resumed : query.after;
    return {
      stream: (response) => {
        // Asked once more, now that nothing lies between the question and joining: many may have come at once.
        if (context.live.refusalFor(account.id) !== null) {
          response.end();
          return;
        }
        const closed: { end: () => void } = { end: () => {} };
        const who = { projectId: project.id, accountId: account.id, sessionId: session.id };
        const watcher = openWatcher(response, { ...who, onClose: () => closed.end() });
        context.live.add(watcher, xmin);
        closed.end = watching(request, watcher);
        void resume(request, watcher, after);
      },
    };
  },
});

/** Asks now and then whether the stream may go on; returns what is to be done when it is closed. */
function watching(request: ProjectRequest, watcher: Watcher): () => void {
  const { context, account, project } = request;
  const { database, live: hub } = context;
  const timer = setInterval(() => {
    const mayGoOn = async () => {
      const found = await context.resolveSession({ ...request, now: context.now() });
      if (found.session?.account.id !== account.id) return false;
      return (await findProjectEntry(database, { accountId: account.id, projectId: project.id })) !== null;
    };
    // While the database is unavailable access cannot be checked, and nothing is sent either.
    mayGoOn().then(
      (isAllowed) => (isAllowed ? undefined : watcher.end()),
      () => {},
    );
  }, ALLOWED_EVERY_MS).unref();
  return () => {
    clearInterval(timer);
    hub.remove(watcher);
    const visit = { projectId: project.id, accountId: account.id, at: context.now() };
    noteVisit(database, visit).catch((error: unknown) =>
      context.log.warn({ err: error }, "could not record visit"),
    );
  };
}

/** Sends what has happened since the cursor; newer changes wait, and may be sent twice. */
async function resume(
  { context, project, now }: ProjectRequest,
  watcher: Watcher,
  after: string | undefined,
): Promise<void> {
  try {
    if (after === undefined) return watcher.begin("");
    const { events, cursor } = await changesSince(context.database, {
      projectId: project.id,
      since: Number(after),
      now,
    });
    watcher.begin(eventText(events, cursor));
  } catch (error) {
    context.log.warn({ err: error }, "could not open live stream");
    watcher.end();
  }
}

export const liveRoutes: readonly WebRoute[] = [changes, live];
