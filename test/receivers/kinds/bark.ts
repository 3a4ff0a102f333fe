// A server of Bark, by https://github.com/Finb/bark-server/blob/master/docs/API_V2.md and the limit of Apple's push
// service, which takes 4 KB.
import { isText, jsonProblems, type KindReceiver, said, startReceiver } from "../receiver.ts";

const KEY = "ynJ5Ft4atkMkWeo2PAvFhF";
const PAYLOAD_BYTES_MAX = 4_096;
const LEVELS = ["critical", "active", "timeSensitive", "passive"];

function result(code: number, message: string) {
  return { code, message, timestamp: 1_794_715_207 };
}

const TOO_LARGE = result(500, "push failed: APNS push failed: PayloadTooLarge");
const UNKNOWN = result(400, `failed to get device token: failed to get [${KEY}] device token from database`);

/** The server is written in Go, which escapes these characters in JSON. */
function bytesOf(payload: object): number {
  return Buffer.byteLength(JSON.stringify(payload).replace(/[<>&]/g, "\\u0000"));
}

export const receiver: KindReceiver = {
  config: { device_key: KEY },
  origins: ["https://api.day.app"],
  start: () =>
    startReceiver((request) => {
      const { device_key, title, body, level, group, url } = request.json;
      if (request.path !== "/push") return { answer: { status: 404, body: result(404, "Cannot POST") } };
      if (device_key !== KEY) return { answer: { status: 400, body: UNKNOWN } };
      const problems = jsonProblems(request);
      if (!isText(title, { max: 1_000 })) problems.push("the title is no text");
      if (!isText(body, { max: PAYLOAD_BYTES_MAX })) problems.push("the body is no text");
      if (!isText(group, { max: 200 })) problems.push("the group is no text");
      if (!LEVELS.includes(said(level))) problems.push(`the level is ${said(level)}`);
      if (!URL.canParse(said(url))) problems.push("the message has no address");
      const alert = { title, body, "thread-id": group, category: "myNotificationCategory", sound: "1107" };
      if (bytesOf({ aps: alert, level, group, url }) > PAYLOAD_BYTES_MAX)
        return { answer: { status: 500, body: TOO_LARGE }, problems: ["the payload is too large"] };
      return problems.length === 0
        ? { answer: { status: 200, body: result(200, "success") } }
        : { answer: { status: 400, body: result(400, "request bind failed") }, problems };
    }),
  answers: [
    { status: 200, body: result(200, "success"), means: "sent" },
    { status: 200, body: result(400, "device key is empty"), means: "retry" },
    { status: 400, body: UNKNOWN, means: "gone" },
    {
      status: 400,
      body: result(400, "failed to get device token: sql: no rows in result set"),
      means: "gone",
    },
    { status: 400, body: result(400, "failed to get device token: dial tcp: timeout"), means: "retry" },
    { status: 401, body: "Unauthorized", means: "retry" },
    { status: 404, body: "404 page not found", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 500, body: TOO_LARGE, means: "once" },
    { status: 500, body: result(500, "push failed: APNS push failed: InternalServerError"), means: "retry" },
  ],
};
