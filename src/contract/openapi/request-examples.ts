// Example requests, one for each operation that takes something. A test sends them to a running server and
// compares what comes back with the example answers of the routes.
import type { CheckBody } from "../check-body.ts";
import type { ApiEndpoint } from "../versions.ts";

/** What stands in a path or a query; several texts are given one after the other. */
export type ParameterExample = string | number | readonly string[];

export type RequestExample = {
  query?: Readonly<Record<string, ParameterExample>>;
  body?: Readonly<CheckBody>;
};

export const REQUEST_EXAMPLES: Readonly<Partial<Record<ApiEndpoint, RequestExample>>> = {
  listChecks: { query: { tag: ["prod", "backup"] } },
  createCheck: {
    body: {
      name: "Nightly backup",
      slug: "nightly-backup",
      tags: "prod backup",
      desc: "Dumps the database and copies it away.",
      schedule: "30 2 * * *",
      tz: "UTC",
      grace: 3600,
      channels: "*",
      unique: ["slug"],
    },
  },
  updateCheck: { body: { grace: 3600, tags: "prod backup" } },
  listFlips: { query: { seconds: 86_400 } },
};
