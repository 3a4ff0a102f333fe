// The incidents page.
import type { PageProps } from "../page-location.ts";

export function IncidentsPage({ params }: PageProps) {
  return <h1>{params.project}</h1>;
}
