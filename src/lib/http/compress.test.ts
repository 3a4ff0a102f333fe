// Which encoding an answer is sent in: the better of those that the other side takes, and none that it refuses.
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
])("who takes %j is sent %j", (accepted, encoding) => {
  expect(encodingFor(accepted)).toBe(encoding);
});
