// Acknowledging incidents, from any page: sends the request, shows a message, and offers undo.
import { call, queryClient } from "../api.ts";
import { toast, toastError } from "../ui/toast.tsx";
import { actionWords as words } from "../words/checks.ts";
import { incidentsKey } from "./use-incidents.ts";

/** The incidents by number, or the open ones of some checks. */
type Acknowledged = { incidents: number[] } | { checks: string[] };

/** Returns whether there was something to acknowledge. */
export async function acknowledge(project: string, body: Acknowledged): Promise<boolean> {
  const refresh = () => queryClient.invalidateQueries({ queryKey: incidentsKey(project) });
  try {
    const { acknowledged } = await call("acknowledgeIncidents", { project, body });
    await refresh();
    const undo = async () => {
      for (const incident of acknowledged) await call("unacknowledgeIncident", { project, incident });
      await refresh();
    };
    const isDone = acknowledged.length > 0;
    toast(
      isDone ? { text: words.acknowledged(acknowledged.length), undo } : { text: words.acknowledgedNone },
    );
    return isDone;
  } catch (error) {
    toastError(error);
    return false;
  }
}
