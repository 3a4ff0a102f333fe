// A group robot of WeCom, by https://developer.work.weixin.qq.com/document/path/99110.
import { isText, jsonProblems, type KindReceiver, objectsOf, startReceiver } from "../receiver.ts";

const KEY = "693a91f6-7aac-4bc4-97a0-0ec2b1fa5aaa";
const CONTENT_BYTES_MAX = 4_096;

export const receiver: KindReceiver = {
  config: { url: `https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=${KEY}` },
  origins: ["https://qyapi.weixin.qq.com"],
  start: () =>
    startReceiver((request) => {
      const refuse = (errcode: number, errmsg: string, problems: string[] = [errmsg]) => ({
        answer: { status: 200, body: { errcode, errmsg: `${errmsg}, hint: [1], from ip: 192.0.2.1` } },
        problems,
      });
      if (request.path !== `/cgi-bin/webhook/send?key=${KEY}`) return refuse(93_000, "invalid webhook url");
      const problems = jsonProblems(request);
      const { msgtype, markdown } = request.json;
      const [{ content } = {}] = objectsOf([markdown]);
      if (msgtype !== "markdown") return refuse(40_008, "invalid message type");
      if (!isText(content, { max: CONTENT_BYTES_MAX })) return refuse(44_004, "empty content");
      if (Buffer.byteLength(content) > CONTENT_BYTES_MAX)
        return refuse(40_058, "markdown.content exceed max length 4096");
      // What is left of mentions such as <@name>, tags and emphasis once our own are gone. There are no escapes.
      const left = content
        .replaceAll(/\*\*[^*\n]+\*\*|\[[^[\]]*\]\(https?:[^\s()]+\)/g, "")
        .replaceAll(/^(####|>) /gm, "");
      if (/[<>*`[\]]/.test(left))
        problems.push(`there is bare markup: ${left.match(/.{0,20}[<>*`[\]]/)?.[0]}`);
      return problems.length > 0
        ? refuse(40_058, "invalid Request Parameter", problems)
        : { answer: { status: 200, body: { errcode: 0, errmsg: "ok" } } };
    }),
  answers: [
    { status: 200, body: { errcode: 0, errmsg: "ok" }, means: "sent" },
    { status: 200, body: "", means: "retry" },
    { status: 200, body: { errcode: 93_000, errmsg: "invalid webhook url, hint: [1]" }, means: "gone" },
    {
      status: 200,
      body: { errcode: 40_058, errmsg: "markdown.content exceed max length 4096." },
      means: "once",
    },
    { status: 200, body: { errcode: 45_009, errmsg: "api freq out of limit, hint: [1]" }, means: "wait" },
    { status: 200, body: { errcode: 45_033, errmsg: "api concurrent out of limit" }, means: "wait" },
    { status: 200, body: { errcode: -1, errmsg: "system busy" }, means: "retry" },
    { status: 401, body: "", means: "retry" },
    { status: 404, body: "", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 429, body: "", means: "retry" },
  ],
};
