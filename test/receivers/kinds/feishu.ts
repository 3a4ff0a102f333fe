// A custom bot of Feishu or Lark, by https://open.feishu.cn/document/client-docs/bot-v3/add-custom-bot.
import { createHmac } from "node:crypto";
import { isText, jsonProblems, type KindReceiver, objectsOf, said, startReceiver } from "../receiver.ts";

const PATH = "/open-apis/bot/v2/hook/0f2cc6d5-7a16-4b43-9d21-3c1f0b5e8a77";
const SECRET = "Kd83jf-signing-secret-of-the-bot";
const BODY_BYTES_MAX = 20 * 1024;

/** The key is what is signed, and the message is empty. */
function signatureOf(timestamp: string): string {
  return createHmac("sha256", `${timestamp}\n${SECRET}`).update("").digest("base64");
}

function cardProblems(given: unknown): string[] {
  const problems: string[] = [];
  const [card = {}] = objectsOf([given]);
  const [header = {}] = objectsOf([card["header"]]);
  const [title = {}] = objectsOf([header["title"]]);
  if (title["tag"] !== "plain_text" || !isText(title["content"], { max: 500 })) problems.push("no title");
  if (!["red", "green", "yellow"].includes(said(header["template"]))) problems.push("no color of a header");
  const elements = objectsOf(card["elements"]);
  if (elements.length === 0) problems.push("there are no elements");
  for (const { tag, text, actions } of elements) {
    if (!["div", "action"].includes(said(tag))) problems.push(`there is an element ${said(tag)}`);
    for (const { tag: format, content } of objectsOf([text])) {
      if (format !== "lark_md" || !isText(content, { max: 20_000 })) problems.push("a text is empty");
      // What is left of a tag, a mention or emphasis once our own bold and links are gone.
      const left = said(content).replaceAll(/\*\*[^*\n]+\*\*|\[[^[\]]*\]\(https?:[^\s()]+\)/g, "");
      if (/[<>*_~`[\]]/.test(left))
        problems.push(`there is bare markup: ${left.match(/.{0,20}[<>*_~`[\]]/)?.[0]}`);
    }
    for (const { tag: what, text: label, url } of objectsOf(actions)) {
      const [{ tag: format, content } = {}] = objectsOf([label]);
      if (what !== "button" || format !== "plain_text" || !isText(content, { max: 100 }))
        problems.push("a button has no text");
      if (!/^https?:\/\//.test(said(url))) problems.push("a button has no URL");
    }
  }
  return problems;
}

export const receiver: KindReceiver = {
  config: { url: `https://open.feishu.cn${PATH}`, secret: SECRET },
  origins: ["https://open.feishu.cn", "https://open.larksuite.com"],
  start: () =>
    startReceiver((request) => {
      const refuse = (code: number, msg: string, problems: string[]) => ({
        answer: { status: 200, body: { code, data: {}, msg } },
        problems,
      });
      const { timestamp, sign, msg_type, card } = request.json;
      if (request.path !== PATH)
        return refuse(19_001, "param invalid: incoming webhook access token invalid", []);
      if (!/^\d{10}$/.test(said(timestamp)) || sign !== signatureOf(said(timestamp)))
        return refuse(19_021, "sign match fail or timestamp is not within one hour from current time", [
          "sign",
        ]);
      const problems = jsonProblems(request);
      if (Buffer.byteLength(request.body) > BODY_BYTES_MAX) problems.push("the body is larger than 20 KB");
      if (msg_type !== "interactive") problems.push(`the message type is ${said(msg_type)}`);
      problems.push(...cardProblems(card));
      return problems.length > 0
        ? refuse(9_499, "Bad Request", problems)
        : {
            answer: {
              status: 200,
              body: { StatusCode: 0, StatusMessage: "success", code: 0, msg: "success" },
            },
          };
    }),
  answers: [
    { status: 200, body: { code: 0, data: {}, msg: "success" }, means: "sent" },
    { status: 200, body: "", means: "retry" },
    {
      status: 200,
      body: { code: 19_001, msg: "param invalid: incoming webhook access token invalid" },
      means: "gone",
    },
    { status: 200, body: { code: 9_499, data: {}, msg: "Bad Request" }, means: "once" },
    {
      status: 200,
      body: { code: 11_232, data: {}, msg: "frequency limited psm[…]appID[1500]" },
      means: "wait",
    },
    // The clock of a server may be wrong, and the settings of the bot may change.
    { status: 200, body: { code: 19_021, msg: "sign match fail or timestamp is not …" }, means: "retry" },
    { status: 200, body: { code: 19_022, msg: "Ip Not Allowed" }, means: "retry" },
    { status: 200, body: { code: 19_024, msg: "Key Words Not Found" }, means: "retry" },
    { status: 401, body: "", means: "retry" },
    { status: 404, body: "404 page not found", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 429, body: "", means: "retry" },
  ],
};
