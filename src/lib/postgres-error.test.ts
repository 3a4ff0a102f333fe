// Which connection errors may be temporary, and the advice for each.
import { expect, test } from "vitest";
import { explainConnection, isTlsError, isUnreachable } from "./postgres-error.ts";

function errorWith(code: string, message = "it failed"): Error {
  return Object.assign(new Error(message), { code });
}

test.each(["ECONNREFUSED", "ENOTFOUND", "ETIMEDOUT", "57P02", "57P03", "53300"])(
  "%s may be temporary",
  (code) => {
    expect(isUnreachable(errorWith(code))).toBe(true);
  },
);

test.each(["28P01", "3D000", "42601"])("%s is permanent", (code) => {
  expect(isUnreachable(errorWith(code))).toBe(false);
});

test("a missing socket may be temporary, a missing file is not", () => {
  expect(isUnreachable(Object.assign(errorWith("ENOENT"), { syscall: "connect" }))).toBe(true);
  expect(isUnreachable(Object.assign(errorWith("ENOENT"), { syscall: "open" }))).toBe(false);
});

test("the driver's own errors without a code are recognized by their text", () => {
  expect(isUnreachable(new Error("Connection terminated due to connection timeout"))).toBe(true);
  expect(isUnreachable(new Error("timeout exceeded when trying to connect"))).toBe(true);
  const broken = "Client has encountered a connection error and is not queryable";
  expect(isUnreachable(new Error(broken))).toBe(true);
  expect(isUnreachable(new Error("cannot read properties of undefined"))).toBe(false);
  expect(isUnreachable("a text")).toBe(false);
});

test("for a name with several addresses, the first error counts", () => {
  const error = new AggregateError([
    errorWith("ECONNREFUSED", "connect ECONNREFUSED ::1:5432"),
    errorWith("X"),
  ]);
  expect(isUnreachable(error)).toBe(true);
  expect(explainConnection(error)).toMatch(/^connect ECONNREFUSED ::1:5432\. No server is listening there\./);
});

test("a server that does not respond in time may be temporary, and the message says what to check", () => {
  const late = new Error("timeout expired");
  expect(isUnreachable(late)).toBe(true);
  expect(explainConnection(late)).toMatch(
    /^timeout expired\. The server did not respond in time\. Check the host, the port/,
  );
  expect(isUnreachable(new Error("the timeout expired for a job"))).toBe(false);
});

test("the sentence says what happened and what to do", () => {
  expect(explainConnection(errorWith("3D000", 'database "x" does not exist'))).toMatch(
    /^database "x" does not exist\. Create the database first/,
  );
});

test("other errors have no explanation", () => {
  expect(explainConnection(errorWith("23505"))).toBeNull();
  expect(explainConnection(new Error("a fault of ours"))).toBeNull();
});

test.each([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "sslrootcert"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "sslrootcert"],
  ["CERT_HAS_EXPIRED", "Renew it"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "verify-ca"],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "sslmode"],
])("%s is a TLS error: not retried at startup, and explained", (code, advice) => {
  expect(isTlsError(errorWith(code))).toBe(true);
  expect(isUnreachable(errorWith(code))).toBe(true);
  expect(explainConnection(errorWith(code))).toContain(advice);
});

test("errors of the server have advice, errors of a statement have none", () => {
  for (const code of ["28000", "42501", "53300", "58030", "25006"]) {
    expect(explainConnection(errorWith(code))).not.toBeNull();
  }
  for (const code of ["42601", "42P01", "22001"]) expect(explainConnection(errorWith(code))).toBeNull();
});
