// Checks of the owner's project, made and read as a browser does.
import { expect } from "vitest";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import type { CheckList } from "../../src/contract/api/overview.ts";
import type { Dashboard } from "./dashboard.ts";

export const checkPath = (row: { id: string }) => `/api/overdue/v1/checks/${row.id}`;

export function ownerChecks(at: Dashboard) {
  const project = () => `/api/overdue/v1/projects/${at.owner.project.uuid}`;
  const post = (path: string, body?: unknown) =>
    at.browse(path, { method: "POST", ...(body !== undefined && { body }) });
  const make = async (given: object = {}): Promise<CheckRow> => {
    const { status, json, text } = await post(`${project()}/checks`, given);
    expect(status, text).toBe(201);
    return json as CheckRow;
  };
  const rowOf = async (id: string): Promise<CheckRow | undefined> => {
    const { json } = await at.browse(`${project()}/checks`);
    return (json as CheckList).checks.find((row) => row.id === id);
  };
  return { project, post, make, rowOf };
}
