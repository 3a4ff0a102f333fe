// A custom robot of DingTalk, by https://open.dingtalk.com/document/orgapp/custom-robot-access.
import { createHmac } from "node:crypto";
import { isText, jsonProblems, type KindReceiver, objectsOf, said, startReceiver } from "../receiver.ts";

const TOKEN = "9a8b7c6d5e4f3a2b1c0d9a8b7c6d5e4f3a2b1c0d9a8b7c6d5e4f3a2b1c0d9a8b";
const SECRET = "SEC0a1b2c3d4e5f60718293a4b5c6d7e8f9";
/** A robot can require a word in each message. */
const KEYWORD = "Overdue";
const BODY_BYTES_MAX = 20_000;

function isSigned(query: URLSearchParams): boolean {
  const timestamp = query.get("timestamp") ?? "";
  const sign = createHmac("sha256", SECRET).update(`${timestamp}\n${SECRET}`).digest("base64");
  return /^\d{13}$/.test(timestamp) && query.get("sign") === sign;
}

export const receiver: KindReceiver = {
  config: { url: `https://oapi.dingtalk.com/robot/send?access_token=${TOKEN}`, secret: SECRET },
  origins: ["https://oapi.dingtalk.com"],
  start: () =>
    startReceiver((request) => {
      const refuse = (errcode: number, errmsg: string, problems: string[] = [errmsg]) => ({
        answer: { status: 200, body: { errcode, errmsg } },
        problems,
      });
      const { pathname, searchParams } = new URL(request.path, "http://x");
      if (pathname !== "/robot/send") return { answer: { status: 404, body: "" } };
      if (searchParams.get("access_token") !== TOKEN) return refuse(300_005, "token is not exist");
      if (!isSigned(searchParams)) return refuse(310_000, "sign not match");
      if (Buffer.byteLength(request.body) > BODY_BYTES_MAX)
        return refuse(460_101, "message too long, exceed 20000 bytes");
      const problems = jsonProblems(request);
      const { msgtype, markdown, at } = request.json;
      const [{ title, text } = {}] = objectsOf([markdown]);
      if (msgtype !== "markdown") problems.push(`the message type is ${said(msgtype)}`);
      if (!isText(title, { max: 500 }) || /\n/.test(title)) problems.push("the title is no line of text");
      if (!isText(text, { max: 20_000 })) problems.push("the text is empty");
      if (at !== undefined) problems.push("somebody is mentioned");
      // What is left of emphasis, tags and links once our own are gone.
      const left = said(text)
        .replaceAll(/\\[\\*_~`<>[\]#|]/g, "")
        .replaceAll(/\*\*[^*\n]+\*\*|\[[^[\]]*\]\(https?:[^\s()]+\)/g, "")
        .replaceAll(/^(####|>) /gm, "");
      if (/[<>*_~`[\]#]/.test(left))
        problems.push(`there is bare markup: ${left.match(/.{0,20}[<>*_~`[\]#]/)?.[0]}`);
      if (!`${said(title)} ${said(text)}`.includes(KEYWORD))
        return refuse(310_000, "keywords not in content");
      return problems.length > 0
        ? refuse(40_035, "invalid parameter", problems)
        : { answer: { status: 200, body: { errcode: 0, errmsg: "ok" } } };
    }),
  answers: [
    { status: 200, body: { errcode: 0, errmsg: "ok" }, means: "sent" },
    { status: 200, body: "", means: "retry" },
    { status: 200, body: { errcode: 300_001, errmsg: "token is not exist" }, means: "gone" },
    { status: 200, body: { errcode: 300_005, errmsg: "token is not exist" }, means: "gone" },
    { status: 200, body: { errcode: 400_106, errmsg: "robot does not exist" }, means: "gone" },
    { status: 200, body: { errcode: 400_013, errmsg: "the group was dissolved" }, means: "gone" },
    {
      status: 200,
      body: { errcode: 460_101, errmsg: "message too long, exceed 20000 bytes" },
      means: "once",
    },
    {
      status: 200,
      body: { errcode: 130_101, errmsg: "send too fast, exceed 20 times per minute" },
      means: "wait",
    },
    { status: 200, body: { errcode: 410_100, errmsg: "send too fast" }, means: "wait" },
    { status: 200, body: { status: 1_111, wait: 5, source: "x5", punish: "deny" }, means: "wait" },
    // The owner can enable the robot again, or change its security settings.
    { status: 200, body: { errcode: 400_102, errmsg: "bot is stopped" }, means: "retry" },
    { status: 200, body: { errcode: 310_000, errmsg: "sign not match" }, means: "retry" },
    { status: 200, body: { errcode: 310_000, errmsg: "keywords not in content" }, means: "retry" },
    { status: 200, body: { errcode: -1, errmsg: "system busy" }, means: "retry" },
    { status: 401, body: "", means: "retry" },
    { status: 404, body: "", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 429, body: "", means: "retry" },
  ],
};
