// Asking for everything about a check again, in an order that leaves nothing old on the page.
import type { QueryClient } from "@tanstack/react-query";

/** Everything about a check lies under this key. */
export const checkKey = (id: string) => ["check", id] as const;

/**
 * Asks again for all that is shown of a check. Its row comes first: what is read after it is at least as new, and what
 * is newer than the row makes the stream tell another one. Asked at once, the runs could be older, and stay so.
 */
export async function refreshCheck(client: QueryClient, id: string): Promise<void> {
  const queryKey = checkKey(id);
  await client.invalidateQueries({ queryKey, exact: true });
  await client.invalidateQueries({ queryKey, predicate: (query) => query.queryKey.length > queryKey.length });
}
