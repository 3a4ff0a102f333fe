// The Apprise API container, by https://github.com/caronc/apprise-api#api-details.
import { isText, jsonProblems, type KindReceiver, said, startReceiver } from "../receiver.ts";

const KEY = "overdue-alerts";
const TYPES = ["info", "success", "warning", "failure"];

export const receiver: KindReceiver = {
  config: { target: KEY, tag: "ops" },
  origins: ["https://apprise.example.org"],
  start: () =>
    startReceiver((request) => {
      const { urls, tag, title, body, type, format } = request.json;
      const [, key] = /^\/notify\/(?:([A-Za-z0-9_-]{1,64})\/?)?$/.exec(request.path) ?? [];
      // A key without a configuration has no content.
      if (key !== undefined && key !== KEY) return { answer: { status: 204 } };
      const problems = jsonProblems(request);
      if (!request.path.startsWith("/notify/")) problems.push(`the path is ${request.path}`);
      if ((key === undefined) === (urls === undefined)) problems.push("there is not one of a key and a URL");
      if (key === undefined ? tag !== undefined : tag !== undefined && !isText(tag, { max: 200 }))
        problems.push("the tag is wrong");
      if (urls !== undefined && !/^[a-z0-9]+:\/\/\S+$/.test(said(urls))) problems.push("the URL is wrong");
      if (!isText(title, { max: 250 })) problems.push("the title is no text");
      if (!isText(body, { max: 32_768 })) problems.push("the body is no text");
      if (!TYPES.includes(said(type))) problems.push(`the type is ${said(type)}`);
      if (format !== "text") problems.push(`the format is ${said(format)}`);
      if (/@(?=\w)|<(?=[!@\w])/.test(`${said(title)}${said(body)}`))
        problems.push("the text mentions somebody");
      return problems.length === 0
        ? { answer: { status: 200, body: "" } }
        : { answer: { status: 400, body: { error: "The payload contains invalid fields" } }, problems };
    }),
  answers: [
    { status: 200, body: "", means: "sent" },
    { status: 204, body: "", means: "retry" },
    { status: 400, body: { error: "The body lacks a message" }, means: "retry" },
    { status: 401, body: "", means: "retry" },
    { status: 403, body: { error: "There has been an access denial" }, means: "retry" },
    { status: 404, body: "", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 424, body: { error: "One or more notification could not be sent" }, means: "retry" },
    { status: 429, body: "", means: "retry" },
  ],
};
