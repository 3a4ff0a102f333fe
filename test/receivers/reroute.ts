// Providers with a fixed address are reached at a receiver of the test instead. Only tests have this: a setting for it
// would be a way around the guard.
import type { GuardedHttp } from "../../src/lib/outgoing-http.ts";

/** The same client, but what goes to one of these origins goes to another. */
export function reroute(
  http: Pick<GuardedHttp, "send">,
  origins: Readonly<Record<string, string>>,
): Pick<GuardedHttp, "send"> {
  return {
    send: (request) => {
      const { origin } = new URL(request.url);
      const other = origins[origin];
      if (other === undefined) throw new Error(`a test wanted to call ${origin}`);
      return http.send({ ...request, url: other + request.url.slice(origin.length) });
    },
  };
}
