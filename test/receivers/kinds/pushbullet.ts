// Pushbullet's API, by "Create Push" and "Ratelimiting" of https://docs.pushbullet.com.
import { isText, jsonProblems, type KindReceiver, said, startReceiver } from "../receiver.ts";

const TOKEN = "o.RUe7IZgC6384GrI1xYzAbCdEfGhIjKlM";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function failure(code: string, message: string) {
  return { error: { code, type: "invalid_request", message, cat: "~(=^‥^)" }, error_code: code };
}

const NO_ACCESS = failure("invalid_access_token", "Access token is missing or invalid.");

export const receiver: KindReceiver = {
  config: { access_token: TOKEN },
  origins: ["https://api.pushbullet.com"],
  start: () =>
    startReceiver((request) => {
      const { type, title, body, url, guid } = request.json;
      if (request.headers["access-token"] !== TOKEN) return { answer: { status: 401, body: NO_ACCESS } };
      const problems = jsonProblems(request);
      if (request.path !== "/v2/pushes") problems.push(`the path is ${request.path}`);
      if (type !== "link") problems.push(`the type is ${said(type)}`);
      if (!isText(title, { max: 1_000 }) || /\n/.test(title)) problems.push("the title is no line of text");
      if (!isText(body, { max: 20_000 })) problems.push("the body is no text");
      if (!URL.canParse(said(url))) problems.push("the link has no address");
      if (!UUID.test(said(guid))) problems.push("the guid is not unique");
      return problems.length === 0
        ? { answer: { status: 200, body: { active: true, iden: "ujpah72o0sjAoRtnM0jc", guid, type } } }
        : { answer: { status: 400, body: failure("invalid_param", problems.join()) }, problems };
    }),
  answers: [
    { status: 401, body: NO_ACCESS, means: "gone" },
    { status: 403, body: failure("forbidden", "Not valid for that context."), means: "retry" },
    { status: 404, body: failure("not_found", "The resource could not be found."), means: "retry" },
    { status: 400, body: failure("pushbullet_pro_required", "Over the monthly limit."), means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 429, body: failure("ratelimited", "You have been ratelimited."), means: "retry" },
  ],
};
