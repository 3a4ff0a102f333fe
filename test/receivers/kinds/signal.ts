// The HTTP daemon of signal-cli 0.13, by signal-cli-jsonrpc(5). The errors about accounts, requests and paths are those
// of a real daemon without an account.
import { isText, type KindReceiver, objectsOf, said, startReceiver } from "../receiver.ts";

const RECIPIENT = /^(\+\d{5,15}|u:\w{3,48}\.\d{2,10})$/;
/** A longer text is sent as an attachment. */
const MESSAGE_BYTES_MAX = 2_000;
/** Tests use the same key for each message. */
const ID = "6f1c1d0c-61b1-4bd0-8c4a-0f4f2f2f9d11";

function errorOf(code: number, message: string, data: object | null = null) {
  return { jsonrpc: "2.0", error: { code, message, data }, id: ID };
}

/** What a message to one recipient has led to. */
function failed(code: number, type: string, more = {}) {
  const result = { recipientAddress: { uuid: null, number: "+37120000000" }, type, ...more };
  const response = { timestamp: 1_794_715_207_000, results: [result] };
  return errorOf(code, "Failed to send message", { response });
}

function problemsOf(params: Readonly<Record<string, unknown>>): string[] {
  const problems: string[] = [];
  const { recipient, message, textStyle, account, ...others } = params;
  if (!Array.isArray(recipient) || recipient.length !== 1 || !RECIPIENT.test(said(recipient[0])))
    problems.push(`the recipient is ${said(recipient)}`);
  if (!isText(message, { max: MESSAGE_BYTES_MAX }) || Buffer.byteLength(message) > MESSAGE_BYTES_MAX)
    problems.push("the message is empty, or becomes an attachment");
  const [style] = Array.isArray(textStyle) ? textStyle : [];
  const [, length] = /^0:(\d+):BOLD$/.exec(said(style)) ?? [];
  // UTF-16 units: the headline is the first line.
  if (Number(length) !== said(message).indexOf("\n"))
    problems.push(`the headline is not bold: ${said(style)}`);
  if (account !== undefined && !/^\+\d{5,15}$/.test(said(account))) problems.push("the account is no number");
  return [...problems, ...Object.keys(others).map((name) => `there is no parameter ${name}`)];
}

export const receiver: KindReceiver = {
  config: { value: "+37120000000" },
  origins: ["https://signal.example.org"],
  start: () =>
    startReceiver((request) => {
      if (request.path !== "/api/v1/rpc")
        return { answer: { status: 404, body: "<h1>404 Not Found</h1>No context found for request" } };
      if (request.method !== "POST") return { answer: { status: 405 } };
      if (request.headers["content-type"] !== "application/json")
        return { answer: { status: 415 }, problems: ["the content type is wrong"] };
      const { jsonrpc, id, method, params } = request.json;
      if (jsonrpc !== "2.0" || !isText(id, { max: 100 })) {
        const body = { ...errorOf(-32_600, "only jsonrpc version 2.0 is supported"), id: null };
        return { answer: { status: 200, body }, problems: ["it is no JSON-RPC"] };
      }
      if (method !== "send")
        return {
          answer: { status: 200, body: errorOf(-32_601, "Method not implemented") },
          problems: [said(method)],
        };
      const problems = problemsOf(objectsOf([params])[0] ?? {});
      const result = { timestamp: 1_794_715_207_000, results: [{ type: "SUCCESS" }] };
      return problems.length > 0
        ? { answer: { status: 200, body: { ...errorOf(-1, problems.join()), id } }, problems }
        : { answer: { status: 200, body: { jsonrpc, result, id } } };
    }),
  answers: [
    {
      status: 200,
      body: { jsonrpc: "2.0", result: { timestamp: 1_794_715_207_000 }, id: ID },
      means: "sent",
    },
    {
      status: 200,
      body: { jsonrpc: "2.0", result: { timestamp: 1_794_715_207_000 }, id: "other" },
      means: "retry",
    },
    { status: 200, body: { jsonrpc: "2.0", result: {}, id: ID }, means: "retry" },
    { status: 200, body: "", means: "retry" },
    { status: 200, body: failed(-1, "UNREGISTERED_FAILURE"), means: "gone" },
    { status: 200, body: errorOf(-1, "The user u:ada.01 is not registered."), means: "gone" },
    // The account of the server itself.
    { status: 200, body: errorOf(-1, "User +14155550100 is not registered."), means: "retry" },
    { status: 200, body: errorOf(-32_602, "Method requires valid account parameter"), means: "ours" },
    { status: 200, body: errorOf(-32_602, "Specified account does not exist"), means: "ours" },
    {
      status: 200,
      body: failed(-5, "RATE_LIMIT_FAILURE", { token: "t", retryAfterSeconds: 86_400 }),
      means: "ours",
    },
    { status: 200, body: failed(-4, "IDENTITY_FAILURE"), means: "ours" },
    { status: 200, body: failed(-3, "NETWORK_FAILURE"), means: "retry" },
    { status: 200, body: { ...errorOf(-32_700, "Unexpected character"), id: null }, means: "retry" },
    { status: 401, body: "", means: "retry" },
    { status: 404, body: "<h1>404 Not Found</h1>No context found for request", means: "retry" },
    { status: 405, body: "", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 415, body: "", means: "retry" },
    { status: 429, body: "", means: "retry" },
  ],
};
