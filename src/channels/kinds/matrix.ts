// Matrix: a room, which the account joins if necessary.
import type { Static } from "typebox";
import type { SendResult } from "../../core/delivery.ts";
import { SEND_MS_MAX } from "../../core/limits.ts";
import type { OutgoingRequest } from "../../lib/outgoing-http.ts";
import type { ChannelKind, ChannelMessage, Outgoing } from "../channel-kind.ts";
import { below, configSchema, serverField, textField, tokenField } from "../config-fields.ts";
import {
  type Answers,
  failedToSend,
  interpret,
  jsonOf,
  notTried,
  rejectionsIn,
  summaryOf,
} from "../http-request.ts";
import { type Dialect, escapeHtml, fullText, HTML, JOINER, PLAIN, SIGNS } from "../layout.ts";
import { clipStart, type MessageText, messageText } from "../message-text.ts";

const ROOM_LENGTH_MAX = 255;

const schema = configSchema({
  room: textField({
    about:
      "The room ID or alias, such as #ops:example.org. In encrypted rooms, messages are shown as unencrypted.",
    lengthMax: ROOM_LENGTH_MAX,
    pattern: "^(![!-~]+|#[^\\s:]+:[^\\s]+)$",
    must: "a room ID such as !abc:example.org, or an alias such as #ops:example.org",
  }),
  homeserver: serverField({
    about: "The URL of the homeserver. Leave blank to use this server's Matrix account, if it has one.",
    fallback: "",
  }),
  token: tokenField({
    about:
      "The access token of the account that sends the messages. Leave blank to use this server's Matrix account.",
    lengthMax: 500,
    fallback: "",
  }),
});

type MatrixConfig = Static<typeof schema>;

/** A message may take three requests: to send it, to join the room, and to send it again. */
const TIMEOUT_MS = SEND_MS_MAX / 3;
const ROOM_ID = new RegExp(`^![!-~]{1,${ROOM_LENGTH_MAX - 1}}$`);
const HEADLINE_LENGTH_MAX = 300;
/** An event may have 65,536 bytes, and has the text twice. */
const LIMITS = { max: 20_000, unit: "bytes", output: 4_000, value: 1_000, names: 4_000 } as const;

const MATRIX_HTML: Dialect = {
  ...HTML,
  text: (foreign) => escapeHtml(foreign).replaceAll("\n", "<br>"),
  newline: "<br>",
};

function eventOf(words: MessageText) {
  const headline = clipStart(words.headline, HEADLINE_LENGTH_MAX);
  const body = `${SIGNS[words.tone]} ${headline}\n${fullText(words, PLAIN, { limits: LIMITS })}`;
  return {
    // Clients do not notify about a notice.
    msgtype: words.tone === "notice" ? "m.notice" : "m.text",
    // Servers without support for m.mentions look for this word.
    body: body.replaceAll("@room", `@${JOINER}room`),
    format: "org.matrix.custom.html",
    formatted_body: `${SIGNS[words.tone]} ${HTML.bold(escapeHtml(headline))}<br>${fullText(words, MATRIX_HTML, { limits: LIMITS })}`,
    "m.mentions": {},
  };
}

type Account = { homeserver: string; token: string; isAdminUrl: boolean; isServersToken: boolean };

/** The account of the channel, or of the server, whose token is never sent to another homeserver. */
function accountOf(
  config: MatrixConfig,
  { keys, providers }: Pick<Outgoing, "keys" | "providers">,
): Account | null {
  const homeserver = config.homeserver || providers.matrixHomeserver;
  const token = config.token || (homeserver === providers.matrixHomeserver ? keys.matrixToken : null);
  if (homeserver === null || token === null) return null;
  return { homeserver, token, isAdminUrl: config.homeserver === "", isServersToken: config.token === "" };
}

const NO_ACCOUNT =
  "The channel needs a homeserver and a token, unless an admin sets OVERDUE_MATRIX_HOMESERVER and OVERDUE_MATRIX_TOKEN";

// A reverse proxy may answer 404 while the server restarts; only these errors come from the homeserver itself.
function answersOf({ isServersToken }: Pick<Account, "isServersToken">): Answers {
  const token = {
    status: 401,
    json: { errcode: /^M_(UNKNOWN|MISSING)_TOKEN$/ },
    reason: "The homeserver rejected the token",
  };
  return {
    gone: [
      {
        status: 403,
        json: { errcode: "M_FORBIDDEN" },
        reason: "The account is not allowed to send to the room: invite it to the room",
      },
      { status: 404, json: { errcode: "M_NOT_FOUND" }, reason: "The room does not exist" },
      ...(isServersToken ? [] : [token]),
    ],
    ours: isServersToken ? [token] : [],
    wait: [
      {
        status: 429,
        ms: (answer) => {
          const { retry_after_ms: ms } = jsonOf(answer);
          return typeof ms === "number" && ms >= 0 ? ms : null;
        },
      },
    ],
  };
}

/** Room IDs contain characters that are allowed in a path but that some proxies change. */
function encoded(part: string): string {
  return encodeURIComponent(part).replaceAll("!", "%21");
}

async function send(message: ChannelMessage, config: MatrixConfig, out: Outgoing): Promise<SendResult> {
  const account = accountOf(config, out);
  if (account === null) return notTried(NO_ACCOUNT);
  const event = eventOf(messageText(message, out));
  const request = (method: "PUT" | "POST", path: string, body: object): OutgoingRequest => ({
    method,
    url: below(account.homeserver, `_matrix/client/v3/${path}`),
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${account.token}` },
    body: JSON.stringify(body),
    timeoutMs: TIMEOUT_MS,
  });
  const http = account.isAdminUrl ? out.adminHttp : out.http;
  // A repeated transaction ID gets the event of the first request.
  const put = (room: string) =>
    http.send(request("PUT", `rooms/${encoded(room)}/send/m.room.message/${out.dedupeKey}`, event));
  const summary = summaryOf(request("PUT", "", {}));
  const answers = answersOf(account);
  const isAlias = config.room.startsWith("#");
  try {
    if (!isAlias) {
      const answer = await put(config.room);
      if (answer.status !== 403 || jsonOf(answer)["errcode"] !== "M_FORBIDDEN")
        return interpret(answer, { summary, now: out.now, answers });
    }
    const joined = await http.send(request("POST", `join/${encoded(config.room)}`, {}));
    // It is stored, and must be valid then.
    const ok = [{ status: 200, json: { room_id: ROOM_ID } }];
    const joining = interpret(joined, { summary, now: out.now, answers: { ...answers, ok } });
    if (joining.kind === "failed") return joining;
    const room = String(jsonOf(joined)["room_id"]);
    const result = interpret(await put(room), { summary, now: out.now, answers });
    return result.kind === "sent" && isAlias ? { ...result, config: { ...config, room } } : result;
  } catch (error) {
    return failedToSend(error, summary);
  }
}

export const matrix: ChannelKind<MatrixConfig> = {
  name: "matrix",
  title: "Matrix",
  about: "Sends messages to a Matrix room.",
  category: "chat",
  icon: "matrix",
  example: { homeserver: "https://matrix.example.org", token: "your-token", room: "#ops:example.org" },
  guide: [
    "Create an account on your homeserver that sends the messages, and invite it to the room.",
    "In Element, sign in with that account, open **All settings**, then **Help & About**, and copy the **Access Token**. Then close the window. Do not sign out: that would revoke the token.",
    "In the form, enter the homeserver URL, the token, and the ID or alias of the room. The account joins the room when it sends the first message. If this server has its own Matrix account, you can leave the URL and token blank and invite that account.",
  ],
  schema,
  isSubscribed: () => true,
  rejections: () => rejectionsIn(answersOf({ isServersToken: false })),
  rate: { perMinute: 60, burst: 10 },
  send,
};
