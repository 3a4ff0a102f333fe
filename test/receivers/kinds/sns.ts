// Amazon SNS, by https://docs.aws.amazon.com/sns/latest/api/API_Publish.html and Signature Version 4.
import { createHash, createHmac } from "node:crypto";
import { isText, type KindReceiver, type Received, startReceiver } from "../receiver.ts";

const HOST = "sns.eu-west-1.amazonaws.com";
const TOPIC = "arn:aws:sns:eu-west-1:123456789012:alerts";
const ACCESS_KEY = "AKIAIOSFODNN7EXAMPLE";
const SECRET_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
const MESSAGE_BYTES_MAX = 256 * 1024;

const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest();
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** The signature of the request as AWS computes it, with the headers that the request names. */
function isSigned({ method, path, headers, body }: Received): boolean {
  const [, scope = "", names = "", signature] =
    /^AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE\/([^,]+), SignedHeaders=([^,]+), Signature=(.+)$/.exec(
      headers.authorization ?? "",
    ) ?? [];
  const sent: Record<string, unknown> = { ...headers, host: HOST };
  const signed = names.split(";").map((name) => `${name}:${String(sent[name]).trim()}\n`);
  const canonical = [method, path, "", signed.join(""), names, sha256(body)].join("\n");
  const date = String(headers["x-amz-date"]);
  const text = ["AWS4-HMAC-SHA256", date, scope, sha256(canonical)].join("\n");
  const [day = "", ...rest] = scope.split("/");
  if (!/^\d{8}T\d{6}Z$/.test(date) || day !== date.slice(0, 8)) return false;
  if (rest.join("/") !== "eu-west-1/sns/aws4_request" || !/(^|;)host(;|$)/.test(names)) return false;
  const key = rest.reduce((made, part) => hmac(made, part), hmac(`AWS4${SECRET_KEY}`, day));
  return hmac(key, text).toString("hex") === signature;
}

function errorOf(code: string, message: string): string {
  const xml = "http://sns.amazonaws.com/doc/2010-03-31/";
  return `<ErrorResponse xmlns="${xml}"><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error><RequestId>1</RequestId></ErrorResponse>`;
}

function problemsOf(form: URLSearchParams): string[] {
  const problems: string[] = [];
  const field = (name: string) => form.get(name) ?? "";
  if (field("Action") !== "Publish" || field("Version") !== "2010-03-31") problems.push("it is no Publish");
  if (!/^[!-~][ -~]{0,98}$/.test(field("Subject"))) problems.push(`the subject is ${field("Subject")}`);
  const message = field("Message");
  if (message === "" || Buffer.byteLength(message) > MESSAGE_BYTES_MAX)
    problems.push("the message is too long");
  if (field("MessageStructure") !== "json") problems.push("the structure is not JSON");
  const { default: text, sms } = JSON.parse(message) as Record<string, unknown>;
  if (!isText(text, { max: 20_000 })) problems.push("there is no default message");
  if (!isText(sms, { max: 1_600 })) problems.push("the text message is too long");
  const isFifo = field("TopicArn").endsWith(".fifo");
  const id = /^[!-~]{1,128}$/;
  for (const name of ["MessageGroupId", "MessageDeduplicationId"]) {
    if (isFifo ? !id.test(field(name)) : form.has(name)) problems.push(`${name} is "${field(name)}"`);
  }
  return problems;
}

export const receiver: KindReceiver = {
  config: { topic_arn: TOPIC, access_key: ACCESS_KEY, secret_key: SECRET_KEY },
  origins: [`https://${HOST}`],
  start: () =>
    startReceiver((request) => {
      if (request.headers["content-type"] !== "application/x-www-form-urlencoded")
        return { answer: { status: 400, body: errorOf("MissingAction", "") }, problems: ["it is no form"] };
      if (!isSigned(request))
        return {
          answer: { status: 403, body: errorOf("SignatureDoesNotMatch", "") },
          problems: ["signature"],
        };
      const form = new URLSearchParams(request.body);
      if (![TOPIC, `${TOPIC}.fifo`].includes(form.get("TopicArn") ?? ""))
        return { answer: { status: 404, body: errorOf("NotFound", "Topic does not exist") } };
      const problems = problemsOf(form);
      return problems.length > 0
        ? { answer: { status: 400, body: errorOf("InvalidParameter", problems.join()) }, problems }
        : { answer: { status: 200, body: "<PublishResponse><MessageId>1</MessageId></PublishResponse>" } };
    }),
  answers: [
    { status: 404, body: errorOf("NotFound", "Topic does not exist"), means: "gone" },
    { status: 404, body: "", means: "retry" },
    { status: 403, body: errorOf("InvalidClientTokenId", "The security token is invalid."), means: "gone" },
    {
      status: 403,
      body: errorOf("AuthorizationError", "not authorized to perform: SNS:Publish"),
      means: "gone",
    },
    { status: 403, body: errorOf("SignatureDoesNotMatch", "The signature does not match."), means: "gone" },
    // The clock of this server is wrong.
    { status: 403, body: errorOf("SignatureDoesNotMatch", "Signature expired: 2026…"), means: "retry" },
    { status: 403, body: errorOf("SignatureDoesNotMatch", "Signature not yet current"), means: "retry" },
    { status: 400, body: errorOf("InvalidParameter", "Invalid parameter: Subject"), means: "once" },
    { status: 400, body: errorOf("Throttling", "Rate exceeded"), means: "wait" },
    { status: 429, body: errorOf("Throttled", "Rate exceeded"), means: "wait" },
    { status: 400, body: errorOf("KMSAccessDenied", ""), means: "retry" },
    { status: 401, body: "", means: "retry" },
    { status: 410, body: "", means: "retry" },
  ],
};
