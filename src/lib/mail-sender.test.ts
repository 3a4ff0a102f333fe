// The reason given for a failed connection.
import { expect, test } from "vitest";
import { smtpFailureOf } from "./mail-sender.ts";

const HANDSHAKE = "The TLS handshake with the mail server failed";
const CERTIFICATE = "The mail server's certificate is not trusted";

test.each([
  ["ERR_SSL_WRONG_VERSION_NUMBER", HANDSHAKE],
  ["ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE", HANDSHAKE],
  ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", HANDSHAKE],
  ["ERR_TLS_HANDSHAKE_TIMEOUT", HANDSHAKE],
  ["EPROTO", HANDSHAKE],
  ["ERR_TLS_CERT_ALTNAME_INVALID", CERTIFICATE],
  ["CERT_HAS_EXPIRED", CERTIFICATE],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", CERTIFICATE],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", CERTIFICATE],
])("%s: %s", (originalCode, reason) => {
  const problem = smtpFailureOf({ code: "ESOCKET", originalCode }, { isHandedOver: false, secrets: [] });
  expect(problem.reason).toBe(`${reason} (${originalCode})`);
});
