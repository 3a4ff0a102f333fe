// The part of `npm run clients` that needs no installation: curl, requests by hand, and the replicas, in both
// dialects. The whole run is for people; this one keeps what it proves from breaking unseen.
import { beforeAll, describe, expect, test } from "vitest";
import type { Client, Row } from "./client.ts";
import { CLIENTS } from "./roster.ts";
import { runClients } from "./run-clients.ts";

/** It takes fifteen seconds; a busy machine may need many times that. */
const RUN_MS_MAX = 600_000;

const invited = CLIENTS.filter(({ kind, installs, program }) => {
  return kind === "replica" || (installs === null && program === "curl");
});

/** Those that were written for what the reference does otherwise than the service description says. */
const particular: readonly Client[] = invited
  .filter(({ dialect }) => dialect === "healthchecks")
  .map((client) => ({ ...client, name: `${client.name}, misplaced`, dialect: "standard" }));

const rows = new Map<string, Row & { complaint: string | null }>();

beforeAll(async () => {
  await runClients([...invited, ...particular], {
    size: "short",
    folder: "",
    onRow: (row, complaint) => rows.set(row.client, { ...row, complaint }),
  });
}, RUN_MS_MAX);

describe("A client that was written for the reference server works with ours", () => {
  test.for(invited)("$name ($dialect)", ({ name }, context) => {
    const row = rows.get(name);
    if (row?.result === "not installed") context.skip(row.note);
    expect(row?.result, row?.complaint ?? "").toBe("passed");
    expect(row?.calls).toBeGreaterThan(0);
  });
});

describe("A client that is said to need the dialect of the reference", () => {
  test.for(particular)("fails without it: $name", ({ name }) => {
    expect(rows.get(name)?.result).toBe("failed");
  });

  test.for(particular)("is said why: $name", ({ note }) => {
    expect(note).toContain("service description");
  });
});

test("Every call is counted, and no others", () => {
  expect(rows.get("runitor")?.calls).toBe(13);
  expect(rows.get("raw HTTP/1.0")?.calls).toBe(5);
  expect(rows.get("homepage widget")?.calls).toBe(2);
});
