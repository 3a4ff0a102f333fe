// Incidents for tests, written as the planner does.
import type { AlertCause } from "../../src/core/alert.ts";
import type { Severity } from "../../src/core/incident.ts";
import type { Instant } from "../../src/core/instant.ts";
import type { Database } from "../../src/store/db.ts";
import { MONDAY_NOON } from "./sample.ts";

export type SampleIncident = { id: number; number: number; projectId: number; alertIds: number[] };

/** An open incident with an open alert for each check. */
export async function sampleIncident(
  db: Database,
  given: {
    projectId: number;
    checkIds: readonly number[];
    cause?: AlertCause;
    severity?: Severity;
    key?: string;
    openedAt?: Instant;
    nextStepAt?: Instant;
  },
): Promise<SampleIncident> {
  const { projectId, checkIds, cause = "missed", severity = "normal", key = null } = given;
  const openedAt = new Date(given.openedAt ?? MONDAY_NOON);
  const nextStepAt = given.nextStepAt === undefined ? null : new Date(given.nextStepAt);
  const { rows } = await db.pool.query<{ id: number; number: number }>(
    `with counted as (
        update projects set incident_count = incident_count + 1 where id = $1 returning incident_count as number
      )
      insert into incidents (project_id, number, key, state, severity, opened_at, next_step_at, reopen_count)
      select $1, number, $2, 'open', $3, $4, $5, 0 from counted
      returning id, number`,
    [projectId, key, severity, openedAt, nextStepAt],
  );
  const { id = 0, number = 0 } = rows[0] ?? {};
  const alertIds: number[] = [];
  for (const checkId of checkIds) {
    const { rows: alerts } = await db.pool.query<{ id: number }>(
      `with flip as (
          insert into flips (check_id, at, from_status, to_status, reason) values ($1, $4, 'up', 'down', 'timeout')
          returning id
        )
        insert into alerts (check_id, incident_id, cause, opened_at, opened_flip_id, planned_at, plan_at)
        select $1, $2, $3, $4, id, $4, $4 from flip returning id`,
      [checkId, id, cause, openedAt],
    );
    alertIds.push(alerts[0]?.id ?? 0);
  }
  return { id, number, projectId, alertIds };
}
