// LINE's Messaging API, by "Send push message" of https://developers.line.biz/en/reference/messaging-api/ and
// https://developers.line.biz/en/docs/messaging-api/retrying-api-request/.
import { isText, jsonProblems, type KindReceiver, objectsOf, said, startReceiver } from "../receiver.ts";

const TOKEN = `${"Zm9v".repeat(40)}/w1cDnyilFU=`;
const TO = "U4af4980629fb1d2e3c4b5a6978877665";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const TEXT_LENGTH_MAX = 5_000;

const NO_ACCESS = {
  message: "Authentication failed. Confirm that the access token in the authorization header is valid.",
};
const ACCEPTED_BEFORE = { message: "The retry key is already accepted" };
const NOBODY = { message: "The property, 'to', in the request body is invalid (line: -, column: -)" };

export const receiver: KindReceiver = {
  config: { channel_access_token: TOKEN, to: TO, notice: true },
  origins: ["https://api.line.me"],
  start: () => {
    const accepted = new Map<string, string>();
    return startReceiver((request) => {
      const { to, messages, ...others } = request.json;
      if (request.headers.authorization !== `Bearer ${TOKEN}`)
        return { answer: { status: 401, body: NO_ACCESS } };
      if (to !== TO) return { answer: { status: 400, body: NOBODY } };
      const problems = jsonProblems(request);
      const key = said(request.headers["x-line-retry-key"]);
      if (request.path !== "/v2/bot/message/push") problems.push(`the path is ${request.path}`);
      if (!UUID.test(key)) problems.push("the retry key is no UUID");
      if (Object.keys(others).length > 0) problems.push(`unknown properties: ${Object.keys(others).join()}`);
      const list = objectsOf(messages);
      if (list.length !== 1) problems.push(`there are ${list.length} messages`);
      for (const { type, text } of list)
        if (type !== "text" || !isText(text, { max: TEXT_LENGTH_MAX })) problems.push("a message is no text");
      if (problems.length > 0)
        return { answer: { status: 400, body: { message: problems.join() } }, problems };
      // The key belongs to one message; other tests of ours use it for several.
      if (accepted.get(key) === request.body) return { answer: { status: 409, body: ACCEPTED_BEFORE } };
      accepted.set(key, request.body);
      return { answer: { status: 200, body: { sentMessages: [{ id: "461230966842064897" }] } } };
    });
  },
  answers: [
    { status: 409, body: ACCEPTED_BEFORE, means: "sent" },
    { status: 401, body: NO_ACCESS, means: "gone" },
    { status: 400, body: NOBODY, means: "gone" },
    { status: 400, body: { message: "Failed to send messages" }, means: "retry" },
    {
      status: 403,
      body: { message: "Access to this API is not available for your account" },
      means: "retry",
    },
    { status: 404, body: { message: "Not found" }, means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 429, body: { message: "You have reached your monthly limit." }, means: "retry" },
  ],
};
