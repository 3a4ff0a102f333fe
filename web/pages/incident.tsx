// The page of one incident.
import type { PageProps } from "../page-location.ts";

export function IncidentPage({ params }: PageProps) {
  return <h1>{params.n}</h1>;
}
