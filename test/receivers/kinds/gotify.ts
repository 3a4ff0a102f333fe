// A server of Gotify, by "createMessage" of https://gotify.net/api-docs and https://gotify.net/docs/msgextras.
import { isText, jsonProblems, type KindReceiver, objectsOf, said, startReceiver } from "../receiver.ts";

const TOKEN = "AWtoken-of-the-app";

export const receiver: KindReceiver = {
  config: { url: "https://gotify.example.org/push", token: TOKEN, priority: 8 },
  origins: ["https://gotify.example.org"],
  start: () =>
    startReceiver((request) => {
      const { title, message, priority, extras } = request.json;
      if (request.path !== "/push/message") return { answer: { status: 404, body: "404 page not found" } };
      if (request.headers["x-gotify-key"] !== TOKEN) {
        const error = {
          error: "Unauthorized",
          errorCode: 401,
          errorDescription: "you need to provide a token",
        };
        return { answer: { status: 401, body: error }, problems: ["the token is wrong"] };
      }
      const problems = jsonProblems(request);
      if (!isText(message, { max: 65_536 })) problems.push("the message is empty");
      if (typeof title !== "string") problems.push("the title is no text");
      if (!Number.isInteger(priority)) problems.push(`the priority is ${said(priority)}`);
      const [display] = objectsOf([objectsOf([extras])[0]?.["client::display"]]);
      if (!["text/plain", "text/markdown"].includes(said(display?.["contentType"])))
        problems.push("the content type is unknown");
      return problems.length === 0
        ? { answer: { status: 200, body: { id: 25, appid: 5, message, title, priority } } }
        : { answer: { status: 400, body: { error: "Bad Request", errorCode: 400 } }, problems };
    }),
  answers: [
    { status: 401, body: { error: "Unauthorized", errorCode: 401 }, means: "gone" },
    { status: 401, body: "proxy", means: "retry" },
    { status: 404, body: "404 page not found", means: "retry" },
    { status: 410, body: "", means: "retry" },
  ],
};
