// Sends requests for providers with a fixed URL to a receiver of the test instead. Only tests have this: a setting
// for it would bypass the SSRF guard.
import type { GuardedHttp } from "../../src/lib/outgoing-http.ts";

/** The same client, but requests to one of these origins go to another. */
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
