// Cards of Trello, by https://developer.atlassian.com/cloud/trello/rest/api-group-cards and
// https://developer.atlassian.com/cloud/trello/guides/rest-api/authorization.
import { isText, jsonProblems, type KindReceiver, startReceiver } from "../receiver.ts";

const KEY = "0123456789abcdef0123456789abcdef";
const TOKEN = "ATTA0123456789abcdef0123456789abcdef";
const LIST = "5abbe4b7ddc1b351ef961414";

export const receiver: KindReceiver = {
  config: { app_key: KEY, token: TOKEN, list_id: LIST },
  origins: ["https://api.trello.com"],
  start: () =>
    startReceiver((request) => {
      const { idList, name, desc } = request.json;
      if (request.path !== "/1/cards") return { answer: { status: 404, body: "Cannot POST" } };
      if (request.headers.authorization !== `OAuth oauth_consumer_key="${KEY}", oauth_token="${TOKEN}"`)
        return { answer: { status: 401, body: "invalid token" }, problems: ["the token is wrong"] };
      const problems = jsonProblems(request);
      if (idList !== LIST) problems.push("invalid value for idList");
      if (!isText(name, { max: 16_384 })) problems.push("invalid value for name");
      if (!isText(desc, { max: 16_384 })) problems.push("invalid value for desc");
      return problems.length === 0
        ? { answer: { status: 200, body: { id: "5abbe4b7ddc1b351ef961415", name, desc } } }
        : { answer: { status: 400, body: problems.join() }, problems };
    }),
  answers: [
    { status: 401, body: "invalid token", means: "gone" },
    { status: 401, body: "invalid key", means: "gone" },
    { status: 401, body: "", means: "retry" },
    { status: 400, body: "invalid value for idList", means: "gone" },
    { status: 400, body: "invalid value for name", means: "once" },
    { status: 404, body: "The requested resource was not found.", means: "gone" },
    { status: 404, body: "", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 429, body: { error: "API_TOKEN_LIMIT_EXCEEDED" }, means: "retry" },
  ],
};
