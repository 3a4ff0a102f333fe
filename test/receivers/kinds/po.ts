// Pushover's Message API, by https://pushover.net/api and https://pushover.net/api/receipts. Keeps the emergencies that
// repeat, because tests check which are left.
import { isText, type KindReceiver, type Receiver, startReceiver, type Verdict } from "../receiver.ts";

const APP_TOKEN = "azGDORePK8gMaC0QOYAMyEEuzJnyUi";
const USER_KEY = "uQiRzpo4DXghDmr9QzzfQu27cmVRsG";
const LIMITS = { title: 250, message: 1_024, url: 512, url_title: 100 } as const;
/** Everything but these is a tag that is removed or shown. */
const MARKUP = /<\/?[biu]>|<a href="https?:[^"<>]*">|<\/a>/g;

export type PushoverReceiver = Receiver & {
  /** The tags of emergencies that nobody has acknowledged or canceled. */
  emergencies: Set<string>;
};

export async function startPushover(): Promise<PushoverReceiver> {
  const emergencies: PushoverReceiver["emergencies"] = new Set();
  const receiver = await startReceiver(({ method, path, headers, body }): Verdict => {
    const form = new URLSearchParams(body);
    const field = (name: string) => form.get(name) ?? "";
    const problems: string[] = [];
    if (method !== "POST") problems.push(`the method is ${method}`);
    if (headers["content-type"] !== "application/x-www-form-urlencoded") problems.push("the body is no form");
    if (field("token") !== APP_TOKEN) return refused({ token: "invalid" }, "application token is invalid");
    const [, canceled] = /^\/1\/receipts\/cancel_by_tag\/([0-9A-Za-z_-]+)\.json$/.exec(path) ?? [];
    if (canceled !== undefined) {
      const count = emergencies.delete(canceled) ? 1 : 0;
      return { answer: { status: 200, body: { canceled: count, status: 1, request: "r" } }, problems };
    }
    if (path !== "/1/messages.json") return { answer: { status: 404 }, problems: [`there is no ${path}`] };
    if (field("user") !== USER_KEY)
      return refused({ user: "invalid" }, "user identifier is not a valid user");
    for (const [name, max] of Object.entries(LIMITS))
      if (!isText(field(name), { max })) problems.push(`${name} has ${field(name).length} characters`);
    if (!/^(-[12]|[012])$/.test(field("priority"))) problems.push(`priority is ${field("priority")}`);
    if (field("html") !== "1" || /[<>]/.test(field("message").replace(MARKUP, "")))
      problems.push("the message contains other tags");
    const isEmergency = field("priority") === "2";
    if (isEmergency ? !(Number(field("retry")) >= 30) : form.has("retry")) problems.push("retry is wrong");
    const expire = Number(field("expire"));
    if (isEmergency ? !(expire >= 30 && expire <= 10_800) : form.has("expire"))
      problems.push("expire is wrong");
    if (problems.length > 0) return { ...refused({}, ...problems), problems };
    if (isEmergency) emergencies.add(field("tags"));
    return { answer: { status: 200, body: { status: 1, request: "r" } } };
  });
  return { ...receiver, emergencies };
}

function refused(which: object, ...errors: string[]): Verdict {
  return { answer: { status: 400, body: { ...which, errors, status: 0, request: "r" } } };
}

export const receiver: KindReceiver = {
  config: { app_token: APP_TOKEN, user_key: USER_KEY },
  origins: ["https://api.pushover.net"],
  start: startPushover,
  answers: [
    { status: 200, body: { status: 1, request: "r" }, means: "sent" },
    { status: 200, body: { status: 0, request: "r" }, means: "retry" },
    {
      status: 400,
      body: { user: "invalid", errors: ["user identifier is not valid"], status: 0 },
      means: "gone",
    },
    {
      status: 400,
      body: { token: "invalid", errors: ["application token is invalid"], status: 0 },
      means: "gone",
    },
    {
      status: 400,
      body: { message: "cannot be blank", errors: ["message cannot be blank"], status: 0 },
      means: "once",
    },
    { status: 401, body: "", means: "once" },
    { status: 404, body: "", means: "once" },
    { status: 410, body: "", means: "once" },
    { status: 429, body: { errors: ["application is over its quota"], status: 0 }, means: "retry" },
  ],
};
