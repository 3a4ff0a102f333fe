// Requests without a response and server errors are retried; refused requests are not.
import { expect, test, vi } from "vitest";
import { ApiError, queryClient } from "./api.ts";

vi.mock("./boot.ts", () => ({ boot: { account: null, site: { base: "" } }, siteUrl: String }));

const { retry } = queryClient.getDefaultOptions().queries ?? {};
const isAskedAgain = (status: number, failures = 0) =>
  typeof retry === "function" && retry(failures, new ApiError(status, {}));

test.each([0, 500, 503])("a query that failed with %s is retried three times", (status) => {
  expect([0, 1, 2, 3].map((failures) => isAskedAgain(status, failures))).toEqual([true, true, true, false]);
});

test.each([400, 401, 403, 404, 409, 429])("a query that was refused with %s is not retried", (status) => {
  expect(isAskedAgain(status)).toBe(false);
});
