// Twilio, by https://www.twilio.com/docs/messaging/api/message-resource and https://www.twilio.com/docs/voice/api/call-resource.
import { isText, type KindReceiver, type Received, type Verdict } from "./receiver.ts";

export const TWILIO_ACCOUNT = "ACaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
export const TWILIO_TOKEN = "twilio-auth-token-0123456789";
const FROM = "+14155550100";
const WHATSAPP_FROM = "whatsapp:+14155550101";
const NUMBER = /^\+[1-9]\d{4,14}$/;
const BODY_LENGTH_MAX = 1_600;
const TWIML_LENGTH_MAX = 4_000;

type Fields = Readonly<Record<string, string | undefined>>;

/** The magic numbers of https://www.twilio.com/docs/iam/test-credentials. */
const INVALID_NUMBER = "+15005550001";

export const TWILIO_ORIGIN = "https://api.twilio.com";

/** An error document of Twilio. */
function twilioError(code: number, message: string) {
  return { code, message, more_info: `https://www.twilio.com/docs/errors/${code}` };
}

/** Judges a request that creates a message or a call. */
export function judgeTwilio(
  request: Received,
  { resource, problemsOf }: { resource: "Messages" | "Calls"; problemsOf: (fields: Fields) => string[] },
): Verdict {
  if (request.path !== `/2010-04-01/Accounts/${TWILIO_ACCOUNT}/${resource}.json`) {
    return {
      answer: { status: 404, body: twilioError(20404, "not found") },
      problems: ["the path is wrong"],
    };
  }
  const login = Buffer.from(`${TWILIO_ACCOUNT}:${TWILIO_TOKEN}`).toString("base64");
  if (request.headers.authorization !== `Basic ${login}`) {
    return { answer: { status: 401, body: twilioError(20003, "Authenticate") }, problems: ["no login"] };
  }
  const fields: Fields = Object.fromEntries(new URLSearchParams(request.body));
  if (fields["To"] === INVALID_NUMBER) {
    return { answer: { status: 400, body: twilioError(21211, "Invalid 'To' Phone Number") } };
  }
  const problems = problemsOf(fields);
  if (request.method !== "POST") problems.push("the method is not POST");
  if (request.headers["content-type"]?.startsWith("application/x-www-form-urlencoded") !== true)
    problems.push("the body is no form");
  const callback = fields["StatusCallback"];
  if (callback !== undefined && !callback.startsWith("https://")) problems.push("the callback is no URL");
  return problems.length === 0
    ? {
        answer: { status: 201, body: { sid: `${resource === "Calls" ? "CA" : "SM"}0123`, status: "queued" } },
      }
    : { answer: { status: 400, body: twilioError(21602, problems.join(", ")) }, problems };
}

export function smsProblems({ To = "", From, MessagingServiceSid, Body }: Fields): string[] {
  const problems: string[] = [];
  if (!NUMBER.test(To)) problems.push(`'To' is ${To}`);
  if (From !== FROM && MessagingServiceSid === undefined) problems.push("there is no sender");
  if (!isText(Body, { max: BODY_LENGTH_MAX })) problems.push("'Body' is not 1 to 1600 characters");
  if (/\p{Extended_Pictographic}/u.test((Body ?? "").replace(/[#*0-9©®™]/g, ""))) problems.push("emoji");
  return problems;
}

export function whatsappProblems({
  To = "",
  From,
  ContentSid = "",
  ContentVariables = "",
}: Fields): string[] {
  const problems: string[] = [];
  if (!To.startsWith("whatsapp:") || !NUMBER.test(To.slice(9))) problems.push(`'To' is ${To}`);
  if (From !== WHATSAPP_FROM) problems.push(`'From' is ${From}`);
  if (!/^HX[0-9a-f]{32}$/.test(ContentSid)) problems.push("'ContentSid' is no template");
  const variables = JSON.parse(ContentVariables || "{}") as Record<string, unknown>;
  // Meta rejects variables with line breaks, tabs, or more than four spaces in a row.
  if (!isText(variables["1"], { max: 1_024 }) || /[\n\t]| {5}/.test(variables["1"]))
    problems.push(`'ContentVariables' is ${ContentVariables}`);
  return problems;
}

const XML_TEXT = /^(?:[^<>&]|&(?:amp|lt|gt|quot|apos);)+$/;

export function callProblems({ To = "", From, Twiml = "" }: Fields): string[] {
  const problems: string[] = [];
  if (!NUMBER.test(To)) problems.push(`'To' is ${To}`);
  if (From !== FROM) problems.push(`'From' is ${From}`);
  if (!isText(Twiml, { max: TWIML_LENGTH_MAX })) problems.push("'Twiml' is not 1 to 4000 characters");
  const [, spoken = ""] = /^<Response><Say>(.*)<\/Say><\/Response>$/s.exec(Twiml) ?? [];
  if (!XML_TEXT.test(spoken)) problems.push("'Twiml' is not well-formed");
  return problems;
}

/** Responses that the kinds of Twilio have in common. */
export const TWILIO_ANSWERS: KindReceiver["answers"] = [
  { status: 201, body: { sid: "SM0123", status: "queued" }, means: "sent" },
  { status: 400, body: twilioError(21211, "Invalid 'To' Phone Number"), means: "gone" },
  { status: 400, body: twilioError(21610, "Attempt to send to unsubscribed recipient"), means: "gone" },
  { status: 400, body: twilioError(21614, "'To' number is not a valid mobile number"), means: "gone" },
  { status: 400, body: twilioError(21617, "The message body exceeds the limit"), means: "once" },
  { status: 400, body: twilioError(21611, "This 'From' number has exceeded the queue"), means: "wait" },
  { status: 400, body: twilioError(21408, "Permission has not been enabled for the region"), means: "retry" },
  { status: 400, body: "proxy", means: "retry" },
  { status: 401, body: twilioError(20003, "Authenticate"), means: "ours" },
  { status: 404, body: twilioError(20404, "The requested resource was not found"), means: "ours" },
  { status: 410, body: "", means: "retry" },
  { status: 413, body: "", means: "once" },
  { status: 429, body: twilioError(20429, "Too Many Requests"), means: "retry" },
];
