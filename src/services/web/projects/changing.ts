// What the routes of a project's settings share: who changes what, and the answer.
import type { ProjectChange } from "../../../operations/accounts/projects.ts";
import type { Asking, ProjectAsk } from "../route.ts";
import { projectSettings } from "./settings-page.ts";

type Ask = Asking & ProjectAsk;

/** A change of the project by whoever asks. */
export function changeOf({ project, account, now }: Ask): ProjectChange {
  return { project, by: { accountId: account.id, keyId: null }, now };
}

/** The same for what is done to people. */
export function actorOf({ project, account, now }: Ask) {
  return { project, actorId: account.id, now };
}

/** The settings as they are after the change. */
export async function settings(ask: Ask) {
  return { json: await projectSettings(ask) };
}
