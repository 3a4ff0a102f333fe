// The signature of webhooks, compared with the example used by the libraries of the specification.
import { expect, test } from "vitest";
import { isWebhookSecret, signatureHeaders } from "./webhook.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

test("a body is signed together with its id and the time", () => {
  const signed = { secret: SECRET, id: "msg_p5jXN8AQM9LWM0D4loKWxJek", at: 1_614_265_330_000 };
  const headers = signatureHeaders({ ...signed, body: '{"test": 2432232314}' });
  expect(headers).toEqual({
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
});

test("a secret is 24 to 64 bytes in base64", () => {
  const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString("base64")}`;
  expect(isWebhookSecret(SECRET)).toBe(true);
  expect([23, 24, 64, 65].map((bytes) => isWebhookSecret(secretOf(bytes)))).toEqual([
    false,
    true,
    true,
    false,
  ]);
  expect(isWebhookSecret("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).toBe(false);
  expect(isWebhookSecret("whsec_not base64 at all, but long enough for it")).toBe(false);
});
