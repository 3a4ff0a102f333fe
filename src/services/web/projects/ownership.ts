// The routes by which a project gets another owner, or none at all.
import { RemoveProjectBody, TransferBody } from "../../../contract/web/project-settings.ts";
import { EmptyForm } from "../../../contract/web/requests/sign-in.ts";
import { removeProject } from "../../../operations/accounts/projects.ts";
import { askToTakeOver, endTransfer, takeOver } from "../../../operations/accounts/transfers.ts";
import { projectRoute, WebRefusal, type WebRoute } from "../route.ts";
import { actorOf, changeOf, settings } from "./changing.ts";

const PATH = "/web/api/projects/:project";

const transfer = projectRoute({
  name: "project.transfer",
  method: "POST",
  path: `${PATH}/transfer`,
  access: "transferProject",
  reauth: true,
  body: TransferBody,
  answer: async (ask) => {
    const { house, body } = ask;
    await askToTakeOver(house.database, { ...actorOf(ask), toUuid: body.account, byMail: house.signIn.mail });
    return settings(ask);
  },
});

const noTransfer = projectRoute({
  name: "project.cancelTransfer",
  method: "DELETE",
  path: `${PATH}/transfer`,
  access: "transferProject",
  answer: async (ask) => {
    await endTransfer(ask.house.database, actorOf(ask));
    return settings(ask);
  },
});

const acceptTransfer = projectRoute({
  name: "project.acceptTransfer",
  method: "POST",
  path: `${PATH}/transfer/accept`,
  access: "view",
  body: EmptyForm,
  answer: async (ask) => {
    const { house, project } = ask;
    const { checkLimitDefault } = house;
    await takeOver(house.database, { ...actorOf(ask), checkLimitDefault });
    return { json: { uuid: project.uuid } };
  },
});

const declineTransfer = projectRoute({
  name: "project.declineTransfer",
  method: "POST",
  path: `${PATH}/transfer/decline`,
  access: "view",
  body: EmptyForm,
  answer: async (ask) => {
    await endTransfer(ask.house.database, actorOf(ask));
    return { json: { uuid: ask.project.uuid } };
  },
});

const remove = projectRoute({
  name: "project.remove",
  method: "POST",
  path: `${PATH}/remove`,
  access: "removeProject",
  reauth: true,
  body: RemoveProjectBody,
  answer: async (ask) => {
    if (ask.body.name.trim() !== ask.project.name) {
      throw new WebRefusal("invalid", "Type the project name to delete it.", "name");
    }
    await removeProject(ask.house.database, changeOf(ask));
    return { json: { removed: true } };
  },
});

export const ownershipRoutes: readonly WebRoute[] = [
  transfer,
  noTransfer,
  acceptTransfer,
  declineTransfer,
  remove,
];
