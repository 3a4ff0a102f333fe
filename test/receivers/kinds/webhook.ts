// A user's own receiver of webhooks, which verifies signatures according to the Standard Webhooks specification and
// accepts everything with a valid, recent signature.
import { createHmac, timingSafeEqual } from "node:crypto";
import { NOW } from "../../channels/sample-messages.ts";
import { type KindReceiver, type Received, type Receiver, startReceiver, type Verdict } from "../receiver.ts";

export const WEBHOOK_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const TOLERANCE_SECONDS = 300;

/** `clock` is in milliseconds. Without a secret, every request is accepted. */
export function startWebhook({
  secret = null,
  clock = Date.now,
}: {
  secret?: string | null;
  clock?: () => number;
} = {}): Promise<Receiver> {
  return startReceiver((request): Verdict => {
    const problem = secret === null ? null : signatureProblem(request, { secret, now: clock() });
    return problem === null
      ? { answer: { status: 200, body: "thanks" } }
      : { answer: { status: 401 }, problems: [problem] };
  });
}

function signatureProblem(
  { headers, body }: Received,
  { secret, now }: { secret: string; now: number },
): string | null {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": given } = headers;
  if (typeof id !== "string" || typeof timestamp !== "string" || typeof given !== "string")
    return "it is not signed";
  if (Math.abs(now / 1_000 - Number(timestamp)) > TOLERANCE_SECONDS)
    return "it is too old, or from the future";
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest();
  const isSigned = given.split(" ").some((part) => {
    const [version, text = ""] = part.split(",");
    const signature = Buffer.from(text, "base64");
    return version === "v1" && signature.length === expected.length && timingSafeEqual(signature, expected);
  });
  return isSigned ? null : "the signature is wrong";
}

export const receiver: KindReceiver = {
  config: {
    url_down: "https://hooks.example.org/down/$CODE?name=$NAME&at=$NOW",
    headers_down: { "Content-Type": "application/json", "X-Name": "$NAME ā", "X-Tag": "$TAG1/$TAG2" },
    body_down:
      '{"status": "$STATUS", "name": $NAME_JSON, "exit": $EXITSTATUS, "output": $BODY_JSON, "check": $JSON}',
    url_up: "hooks.example.org/up/$SLUG",
    method_up: "GET",
    url_notice: "https://hooks.example.org/notice",
    secret: WEBHOOK_SECRET,
  },
  origins: ["https://hooks.example.org"],
  start: () => startWebhook({ secret: WEBHOOK_SECRET, clock: () => NOW }),
  answers: [
    { status: 404, body: "", means: "retry" },
    { status: 410, body: "", means: "retry" },
  ],
};
