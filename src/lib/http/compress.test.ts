// The encoding of a response: the best of those that the client accepts, and none that it rejects.
import { expect, test } from "vitest";
import { encodingFor } from "./compress.ts";

test.each([
  ["gzip, deflate, br", "br"],
  ["gzip", "gzip"],
  ["GZIP;q=0.5", "gzip"],
  ["br;q=0.1, gzip;q=1.0", "br"],
  ["gzip, br;q=0", "gzip"],
  ["gzip;q=0.000, br; q=0", null],
  ["identity", null],
  ["brotli", null],
  [undefined, null],
])("a client that accepts %j gets %j", (accepted, encoding) => {
  expect(encodingFor(accepted)).toBe(encoding);
});
