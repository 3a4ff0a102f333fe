// The routes that make, change and delete checks. Each answers with the row as it is afterwards.
import { CheckChange, TransferRequest } from "../../../contract/web/requests/checks.ts";
import { mayDo } from "../../../core/access.ts";
import { DAY_MS } from "../../../core/instant.ts";
import { USER_AGENT_LENGTH_MAX } from "../../../core/limits.ts";
import { DAYS_KEPT } from "../../../core/retention.ts";
import {
  createCheck,
  pauseCheck,
  resumeCheck,
  updateCheck,
  updateCheckSince,
} from "../../../operations/change-check.ts";
import { binCheck, restoreCheck } from "../../../operations/changing/bin.ts";
import { clearHistory } from "../../../operations/changing/clear-history.ts";
import { copyCheck } from "../../../operations/changing/copy-check.ts";
import { signalNow } from "../../../operations/changing/signal-now.ts";
import { transferCheck } from "../../../operations/changing/transfer-check.ts";
import { findProjectEntry, type ProjectEntry } from "../../../store/accounts/project-entry.ts";
import {
  type CheckAsk,
  checkRoute,
  type ProjectAsk,
  projectRoute,
  type WebAnswer,
  WebRefusal,
  type WebRoute,
} from "../route.ts";
import { circumstances, commandFor, done, readChange } from "./commands.ts";
import { overtaken } from "./overtaken.ts";
import { presentRow } from "./one-row.ts";

const CREATED = 201;

const create = projectRoute({
  name: "create check",
  method: "POST",
  path: "/web/api/projects/:project/checks",
  access: "editChecks",
  body: CheckChange,
  answer: async (ask) => ({ status: CREATED, ...(await row(ask, await makeCheck(ask, ask.body))) }),
});

/** A new check of the project, as somebody asks for it in the browser. */
export async function makeCheck(ask: ProjectAsk, change: CheckChange): Promise<{ uuid: string }> {
  const { house, project } = ask;
  const { params, channels } = readChange(change, null);
  const { check } = done(
    await createCheck(house.database, {
      ...circumstances(ask),
      projectId: project.id,
      params,
      // Whoever makes a check by hand wants to hear of it.
      channels: channels ?? "*",
      deriveSlug: change.slug === undefined,
      unique: [],
      checkLimitDefault: house.checkLimitDefault,
    }),
  );
  return check;
}

const update = checkRoute({
  name: "change check",
  method: "PATCH",
  path: "/web/api/checks/:check",
  access: "editChecks",
  body: CheckChange,
  answer: async (ask) => {
    const { house, check } = ask;
    const { version, ...change } = ask.body;
    const edit = { ...commandFor(ask, check), ...readChange(change, check.settings), deriveSlug: false };
    if (version === undefined) done(await updateCheck(house.database, edit));
    else {
      const outcome = await updateCheckSince(house.database, { ...edit, version });
      if (outcome.kind === "overtaken") throw await overtaken(ask, outcome);
      done(outcome);
    }
    return row(ask, check);
  },
});

/** The row of a check, as the list has it. */
async function row(ask: ProjectAsk, check: { uuid: string }): Promise<{ json: unknown }> {
  return { json: await presentRow(ask.house, { check, now: ask.now }) };
}

/** A route that does something to a check and takes no body. */
function verb(word: string, act: (ask: CheckAsk) => Promise<WebAnswer>): WebRoute {
  return checkRoute({
    name: `${word} check`,
    method: "POST",
    path: `/web/api/checks/:check/${word}`,
    access: "editChecks",
    answer: act,
  });
}

const pause = verb("pause", async (ask) => {
  done(await pauseCheck(ask.house.database, commandFor(ask, ask.check)));
  return row(ask, ask.check);
});

const resume = verb("resume", async (ask) => {
  done(await resumeCheck(ask.house.database, commandFor(ask, ask.check)));
  return row(ask, ask.check);
});

const ping = verb("ping", async (ask) => {
  const { house, check, remoteAddr, ua } = ask;
  const { pingLogLimit: pingLogRows, signalsPerMinute: ratePerMinute } = house;
  const sender = {
    remoteAddr: remoteAddr === "" ? null : remoteAddr,
    ua: ua.slice(0, USER_AGENT_LENGTH_MAX),
  };
  const how = { pingLogRows, rules: { ratePerMinute } };
  done(await signalNow(house.database, { ...commandFor(ask, check), uuid: check.uuid, ...sender, ...how }));
  return row(ask, check);
});

const copy = verb("copy", async (ask) => {
  const { checkLimitDefault, database } = ask.house;
  const { check } = done(await copyCheck(database, { ...commandFor(ask, ask.check), checkLimitDefault }));
  return { status: CREATED, ...(await row(ask, check)) };
});

const clear = verb("clear", async (ask) => {
  done(await clearHistory(ask.house.database, commandFor(ask, ask.check)));
  return row(ask, ask.check);
});

const remove = checkRoute({
  name: "delete check",
  method: "DELETE",
  path: "/web/api/checks/:check",
  access: "editChecks",
  answer: async (ask) => {
    const { house, check, now } = ask;
    done(await binCheck(house.database, commandFor(ask, check)));
    return { json: { id: check.uuid, goneAt: now + DAYS_KEPT.deletedCheck * DAY_MS } };
  },
});

const restore = checkRoute({
  name: "restore check",
  method: "POST",
  path: "/web/api/checks/:check/restore",
  access: "editChecks",
  deleted: true,
  answer: async (ask) => {
    const { check, house } = ask;
    const { checkId: _, ...by } = commandFor(ask, check);
    const { checkLimitDefault } = house;
    done(await restoreCheck(house.database, { ...by, uuid: check.uuid, checkLimitDefault }));
    return row(ask, check);
  },
});

const transfer = checkRoute({
  name: "transfer check",
  method: "POST",
  path: "/web/api/checks/:check/transfer",
  access: "editChecks",
  body: TransferRequest,
  answer: async (ask) => {
    const { house, check, project: from, body } = ask;
    const { project: to } = await projectToEnter(ask, body.project);
    const { checkLimitDefault } = house;
    done(await transferCheck(house.database, { ...commandFor(ask, check), checkLimitDefault, to, from }));
    return row(ask, check);
  },
});

/** A project in which this person may change checks, too. */
export async function projectToEnter(
  { house, account }: Pick<ProjectAsk, "house" | "account">,
  projectUuid: string,
): Promise<ProjectEntry> {
  const entry = await findProjectEntry(house.database, { accountId: account.id, projectUuid });
  if (entry === null) throw new WebRefusal("not_found", "Project not found.", "project");
  if (!mayDo(entry.role, "editChecks")) {
    const sentence = `Your role in the project ${entry.project.name} doesn't allow this.`;
    throw new WebRefusal("forbidden", sentence, "project");
  }
  return entry;
}

export const changeRoutes: readonly WebRoute[] = [
  create,
  update,
  pause,
  resume,
  ping,
  copy,
  clear,
  remove,
  restore,
  transfer,
];
