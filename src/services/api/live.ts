// Handlers of a project's changes: as a stream, and by polling for clients that cannot hold a connection open.
import type { liveRoutes } from "../../contract/api/live.ts";
import { AppError } from "../../core/errors.ts";
import { MINUTE_MS } from "../../core/instant.ts";
import { noteVisit } from "../../operations/sessions.ts";
import { readSnapshot } from "../../store/check-lists.ts";
import { recentMonitoringGap } from "./checks.ts";
import { changesSince, eventText, openWatcher, type Watcher } from "./live-hub.ts";
import type { ApiHandlers, ApiRequest } from "./route.ts";

/** How often a stream is checked for access. Sessions that ended are also found by every read of the hub. */
const ALLOWED_EVERY_MS = MINUTE_MS;

type StreamRequest = ApiRequest<(typeof liveRoutes)["streamChanges"]>;

export const liveHandlers: ApiHandlers<typeof liveRoutes> = {
  listChanges: async ({ context, project, query, now }) => {
    const { cursor } = query;
    const since = cursor === undefined ? (await readSnapshot(context.database)).xmin : Number(cursor);
    const monitoringGap = recentMonitoringGap(context, now);
    return {
      json: await changesSince(context.database, { projectId: project.id, since, monitoringGap, now }),
    };
  },
  streamChanges: async (request) => {
    const { context, sessionId, project, query, headers } = request;
    const owner = ownerOf(request);
    const refusal = context.live.refusalFor(owner);
    if (refusal !== null) throw new AppError("rate_limited", refusal);
    // Read before joining, so that the first read of the hub begins no later than this.
    const { xmin } = await readSnapshot(context.database);
    const resumed = headers["last-event-id"];
    const cursor = typeof resumed === "string" && /^\d{1,15}$/.test(resumed) ? resumed : query.cursor;
    return {
      stream: (response) => {
        // Checked again without awaiting in between: many requests may have arrived at once.
        if (context.live.refusalFor(owner) !== null) {
          response.end();
          return;
        }
        const closed: { end: () => void } = { end: () => {} };
        const viewer = { projectId: project.id, owner, sessionId };
        const watcher = openWatcher(response, { ...viewer, onClose: () => closed.end() });
        context.live.add(watcher, xmin);
        closed.end = watchAccess(request, watcher);
        void resume(request, watcher, cursor);
      },
    };
  },
};

/** The key under which streams are counted. */
function ownerOf({ actor }: StreamRequest): string {
  return actor.accountId === null ? `key ${actor.keyId}` : `account ${actor.accountId}`;
}

/** Ends the stream when access ends; returns the cleanup function for when it is closed. */
function watchAccess(request: StreamRequest, watcher: Watcher): () => void {
  const { context, account, sessionId, project } = request;
  const timer = setInterval(() => {
    request.isStillAllowed().then(
      (isAllowed) => (isAllowed ? undefined : watcher.end()),
      (error: unknown) => context.log.warn({ err: error }, "could not check access to live stream"),
    );
  }, ALLOWED_EVERY_MS).unref();
  return () => {
    clearInterval(timer);
    context.live.remove(watcher);
    if (account === null || sessionId === null) return;
    const visit = { projectId: project.id, accountId: account.id, at: context.now() };
    noteVisit(context.database, visit).catch((error: unknown) =>
      context.log.warn({ err: error }, "could not record visit"),
    );
  };
}

/** Sends what has happened since the cursor. Newer changes wait, and may be sent twice. */
async function resume(
  { context, project, now }: StreamRequest,
  watcher: Watcher,
  after: string | undefined,
): Promise<void> {
  try {
    if (after === undefined) return watcher.begin("");
    const { events, cursor } = await changesSince(context.database, {
      projectId: project.id,
      since: Number(after),
      monitoringGap: recentMonitoringGap(context, now),
      now,
    });
    watcher.begin(eventText(events, cursor));
  } catch (error) {
    context.log.warn({ err: error }, "could not open live stream");
    watcher.end();
  }
}
