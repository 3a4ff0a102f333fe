// Threema Gateway in basic mode, by "Sending messages, basic mode" of https://gateway.threema.ch/en/developer/api.
import { type KindReceiver, startReceiver } from "../receiver.ts";

const SECRET = "w2kdj25yh1Ep81oP";
const TEXT_BYTES_MAX = 3_500;
/** A sign after the boundary of a word, and mentions. */
const MARKUP = /(?:^|[\s.,!?;:&(){}[\]'"*~_-])[*_~](?=\S)|@\[[0-9A-Z*@]{8}\]/u;

export const receiver: KindReceiver = {
  config: { gateway_id: "*OVERDUE", secret: SECRET, recipient: "ECHOECHO", notice: true },
  origins: ["https://msgapi.threema.ch"],
  start: () =>
    startReceiver(({ method, path, headers, body }) => {
      const form = new URLSearchParams(body);
      const field = (name: string) => form.get(name) ?? "";
      if (field("from") !== "*OVERDUE" || field("secret") !== SECRET) return { answer: { status: 401 } };
      const problems: string[] = [];
      if (method !== "POST" || path !== "/send_simple") problems.push(`the request is ${method} ${path}`);
      if (headers["content-type"] !== "application/x-www-form-urlencoded")
        problems.push("the body is no form");
      const to = ["to", "phone", "email"].filter((name) => form.has(name));
      if (to.length !== 1) problems.push(`the recipients are ${to.join()}`);
      if (form.has("to") && !/^[0-9A-Z*]{8}$/.test(field("to"))) problems.push("the ID is wrong");
      if (form.has("phone") && !/^[0-9]{5,15}$/.test(field("phone"))) problems.push("the number is wrong");
      if (field("text") === "" || MARKUP.test(field("text")))
        problems.push("the text is empty or has markup");
      if (Buffer.byteLength(field("text")) > TEXT_BYTES_MAX)
        return { answer: { status: 413 }, problems: ["the text is too long"] };
      return problems.length === 0
        ? { answer: { status: 200, body: "0123456789abcdef" } }
        : { answer: { status: 400 }, problems };
    }),
  answers: [
    { status: 400, body: "", means: "gone" },
    { status: 401, body: "", means: "gone" },
    { status: 402, body: "", means: "retry" },
    { status: 404, body: "", means: "gone" },
    { status: 410, body: "", means: "retry" },
    { status: 429, body: "", means: "retry" },
  ],
};
