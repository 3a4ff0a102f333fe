// Who asks, and what the path names: the session, the project, the check, the channel; and whether the route may be
// called. Whoever is no member of a project does not learn whether it is there.
import { mayDo, type Role } from "../../../core/access.ts";
import { isUuid } from "../../../core/identity.ts";
import { findProjectEntry } from "../../../store/accounts/project-entry.ts";
import type { Project } from "../../../store/accounts/projects.ts";
import { type Channel, findChannelByUuid } from "../../../store/alerts/channels.ts";
import { findDeletedCheck, findShownCheck } from "../../../store/checks/check-search.ts";
import type { Session, WebHouse } from "../house.ts";
import { type Asking, type CheckRecord, WebRefusal, type WebRoute } from "../route.ts";

export type Found = Pick<Asking, "session" | "account" | "project" | "role" | "check" | "channel">;

/** Nobody is signed in; a page answers this with the way to sign in. */
export class SignInError extends Error {
  override readonly name = "SignInError";
}

/** The person has to prove who they are once more. */
export class ReauthError extends Error {
  override readonly name = "ReauthError";
}

export type Caller = {
  route: WebRoute;
  params: Readonly<Record<string, string>>;
  session: Session | null;
};

/** Finds what a request is about. Throws what it is refused with. */
export async function lookUp(house: WebHouse, { route, params, session }: Caller): Promise<Found> {
  const found = { session, account: session?.account ?? null };
  const nothing = { project: null, role: null, check: null, channel: null };
  if (route.access === "anyone") return { ...found, ...nothing };
  if (session === null) throw new SignInError("You are not signed in.");
  if (route.access === "operator" && !session.account.isOperator) throw absent();
  if (route.access === "account" || route.access === "operator") {
    demandProof(route, session);
    return { ...found, ...nothing };
  }
  const named = await findNamed(house, { route, params, session });
  if (!mayDo(named.role, route.access)) {
    throw new WebRefusal("forbidden", `Your role in the project ${named.project.name} doesn't allow this.`);
  }
  demandProof(route, session);
  return { ...found, ...named };
}

function demandProof(route: WebRoute, session: Session): void {
  if (route.reauth === true && !session.isProven) throw new ReauthError("Re-authenticate to continue.");
}

type Named = { project: Project; role: Role; check: CheckRecord | null; channel: Channel | null };

async function findNamed(
  { database }: WebHouse,
  { route, params, session }: { route: WebRoute; params: Caller["params"]; session: Session },
): Promise<Named> {
  const { project: projectUuid, check: checkUuid, channel: channelUuid } = params;
  for (const uuid of [projectUuid, checkUuid, channelUuid]) {
    if (uuid !== undefined && !isUuid(uuid)) throw absent();
  }
  const findCheck = route.deleted === true ? findDeletedCheck : findShownCheck;
  const check = checkUuid === undefined ? null : await findCheck(database, checkUuid);
  const channel = channelUuid === undefined ? null : await findChannelByUuid(database, channelUuid);
  if ((checkUuid !== undefined && check === null) || (channelUuid !== undefined && channel === null)) {
    throw absent();
  }
  const accountId = session.account.id;
  const projectId = check?.projectId ?? channel?.projectId;
  const entry =
    projectId !== undefined
      ? await findProjectEntry(database, { accountId, projectId })
      : await findProjectEntry(database, { accountId, projectUuid: projectUuid ?? "" });
  if (entry === null) throw absent();
  const { project, role } = entry;
  // A path that names two things is about both.
  const isOther = (other: { projectId: number } | null) => other !== null && other.projectId !== project.id;
  if ((projectUuid !== undefined && project.uuid !== projectUuid) || isOther(check) || isOther(channel)) {
    throw absent();
  }
  return { project, role, check, channel };
}

function absent(): WebRefusal {
  return new WebRefusal("not_found", "It doesn't exist, or you don't have access to it.");
}
