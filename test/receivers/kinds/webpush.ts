// A push service and the browser behind it, by RFC 8030 (requests), RFC 8291 (encryption) and RFC 8292 (VAPID).
import { createDecipheriv, createECDH, createHmac, createPublicKey, type ECDH, verify } from "node:crypto";
import type { OutgoingRequest } from "../../../src/lib/outgoing-http.ts";
import { vapidKeysOf } from "../../../src/lib/web-push.ts";
import { NOW } from "../../channels/sample-messages.ts";
import { isText, type KindReceiver, type Received, said, startReceiver } from "../receiver.ts";

/** The server's key pair, with which the browser has subscribed. */
export const VAPID = vapidKeysOf("the secret key of a server in tests");

const ORIGIN = "https://updates.push.services.mozilla.com";
const PATH = "/wpush/v2/gAAAAABc-a-subscription";
const BODY_BYTES_MAX = 4_096;
const EXPIRY_S_MAX = 24 * 3_600;

/** The browser's side of a subscription. The keys are always the same, so that golden files are. */
const BROWSER = createECDH("prime256v1");
BROWSER.setPrivateKey(Buffer.from("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94", "base64url"));
const AUTH = Buffer.from("BTBZMqHH6r4Tts7J_aSIgg", "base64url");

/** HKDF with one block of output, written out, so that it is not the one that is tested. */
function hkdf(
  salt: Uint8Array,
  material: Uint8Array,
  { info, length }: { info: Uint8Array; length: number },
) {
  const key = createHmac("sha256", salt).update(material).digest();
  return createHmac("sha256", key).update(info).update(Buffer.of(1)).digest().subarray(0, length);
}

/** The text of a message, as a browser reads it; throws if it cannot. */
export function decryptPush(
  body: Uint8Array,
  { browser, auth }: { browser: ECDH; auth: Uint8Array } = { browser: BROWSER, auth: AUTH },
): string {
  const bytes = Buffer.from(body);
  const salt = bytes.subarray(0, 16);
  const size = bytes.readUInt32BE(16);
  const [keyStart, keyEnd] = [21, 21 + bytes.readUInt8(20)];
  const sender = bytes.subarray(keyStart, keyEnd);
  const record = bytes.subarray(keyEnd);
  if (record.length > size) throw new Error("there is more than one record");
  const material = hkdf(auth, browser.computeSecret(sender), {
    info: Buffer.concat([Buffer.from("WebPush: info\0"), browser.getPublicKey(), sender]),
    length: 32,
  });
  const key = hkdf(salt, material, { info: Buffer.from("Content-Encoding: aes128gcm\0"), length: 16 });
  const nonce = hkdf(salt, material, { info: Buffer.from("Content-Encoding: nonce\0"), length: 12 });
  const decipher = createDecipheriv("aes-128-gcm", key, nonce).setAuthTag(record.subarray(-16));
  const text = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
  const end = text.findLastIndex((byte) => byte !== 0);
  if (text[end] !== 2) throw new Error("the record does not end with its delimiter");
  return text.subarray(0, end).toString("utf8");
}

export type Claims = { aud?: unknown; exp?: unknown; sub?: unknown };

/** The claims of a header whose signature and key are right; else what is wrong. */
export function vapidClaims(header: string, publicKey = VAPID.publicKey): Claims | string {
  const { jwt = "", key } = /^vapid t=(?<jwt>[^,]+), ?k=(?<key>[\w-]+)$/.exec(header)?.groups ?? {};
  if (key !== publicKey) return "the key is not the one of the subscription";
  const [head = "", claims = "", signature = ""] = jwt.split(".");
  const point = Buffer.from(publicKey, "base64url");
  const jwk = {
    kty: "EC",
    crv: "P-256",
    x: point.subarray(1, 33).toString("base64url"),
    y: point.subarray(33).toString("base64url"),
  };
  const isSigned = verify(
    "sha256",
    Buffer.from(`${head}.${claims}`),
    { key: createPublicKey({ format: "jwk", key: jwk }), dsaEncoding: "ieee-p1363" },
    Buffer.from(signature, "base64url"),
  );
  return isSigned ? (JSON.parse(Buffer.from(claims, "base64url").toString()) as Claims) : "badly signed";
}

function vapidProblems(header = ""): string[] {
  const claims = vapidClaims(header);
  if (typeof claims === "string") return [claims];
  const left = Number(claims.exp) - NOW / 1_000;
  return [
    ...(claims.aud === ORIGIN ? [] : [`aud is ${said(claims.aud)}`]),
    ...(left > 0 && left <= EXPIRY_S_MAX ? [] : [`exp is ${said(claims.exp)}`]),
    ...(/^(mailto|https):/.test(said(claims.sub)) ? [] : [`sub is ${said(claims.sub)}`]),
  ];
}

function messageProblems({ body, headers }: Received): string[] {
  const bytes = Buffer.from(body, "base64");
  if (bytes.length > BODY_BYTES_MAX) return [`the body has ${bytes.length} bytes`];
  if (headers["content-encoding"] !== "aes128gcm") return ["the body is not encoded with aes128gcm"];
  const { title, body: text, url, tag, ...more } = JSON.parse(decryptPush(bytes)) as Record<string, unknown>;
  return [
    ...(isText(title, { max: 500 }) && !/\n/.test(title) ? [] : ["the title is no line of text"]),
    ...(isText(text, { max: 4_000 }) ? [] : ["the body is no text"]),
    ...(said(url).startsWith("https://") ? [] : [`the url is ${said(url)}`]),
    ...(tag === headers["topic"] ? [] : ["tag and topic differ"]),
    ...Object.keys(more).filter((name) => name !== "ack"),
  ];
}

export const receiver: KindReceiver = {
  config: {
    endpoint: ORIGIN + PATH,
    p256dh: BROWSER.getPublicKey("base64url"),
    auth: AUTH.toString("base64url"),
    browser: "Firefox on Linux",
  },
  origins: [ORIGIN],
  start: () =>
    startReceiver((request) => {
      const { method, path, headers } = request;
      if (path !== PATH) return { answer: { status: 404 } };
      const wrong = vapidProblems(headers.authorization);
      if (wrong.length > 0) return { answer: { status: 403, body: wrong.join() }, problems: wrong };
      const problems = messageProblems(request);
      if (method !== "POST") problems.push(`the method is ${method}`);
      if (!/^[1-9]\d{0,6}$/.test(said(headers["ttl"]))) problems.push(`the TTL is ${said(headers["ttl"])}`);
      if (!/^[\w-]{1,32}$/.test(said(headers["topic"])))
        problems.push(`the topic is ${said(headers["topic"])}`);
      if (!["very-low", "low", "normal", "high"].includes(said(headers["urgency"])))
        problems.push(`the urgency is ${said(headers["urgency"])}`);
      return problems.length === 0
        ? { answer: { status: 201, headers: { Location: `${ORIGIN}/m/1` } } }
        : { answer: { status: 400 }, problems };
    }),
  readable: ({ headers = {}, body, ...request }: OutgoingRequest): OutgoingRequest => ({
    ...request,
    headers: { ...headers, Authorization: `vapid ${said(vapidClaims(headers["Authorization"] ?? ""))}` },
    body: decryptPush(body as Uint8Array),
  }),
  answers: [
    { status: 200, body: "", means: "sent" },
    { status: 201, body: "", means: "sent" },
    { status: 202, body: "", means: "sent" },
    { status: 400, body: "BadJwtToken", means: "retry" },
    { status: 401, body: "", means: "ours" },
    { status: 403, body: "the VAPID credentials do not correspond", means: "ours" },
    { status: 404, body: "", means: "gone" },
    { status: 410, body: "push subscription has unsubscribed or expired", means: "gone" },
  ],
};
