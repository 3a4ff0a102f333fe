// Handlers of incidents.
import type { incidentRoutes } from "../../contract/api/incidents.ts";
import { notFound } from "./params.ts";
import type { ApiHandlers } from "./route.ts";

async function missing(): Promise<never> {
  throw notFound();
}

export const incidentHandlers: ApiHandlers<typeof incidentRoutes> = {
  listIncidents: missing,
  acknowledgeIncidents: missing,
  getIncident: missing,
  acknowledgeIncident: missing,
  unacknowledgeIncident: missing,
  resolveIncident: missing,
  addIncidentNote: missing,
};
