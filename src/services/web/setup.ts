// The echo of request headers, for the test of the public URL and to debug reverse proxies.
import { echo, ECHO_PATH } from "../api/setup.ts";
import { openRoute, type WebRoute } from "./route.ts";

export const setUpRoutes: readonly WebRoute[] = [
  openRoute({
    name: "setUp.echo",
    method: "GET",
    path: ECHO_PATH,
    access: "anyone",
    answer: async ({ context, headers, peer, remoteAddr }) => ({
      json: echo(headers, { version: context.version, peer, remoteAddr: remoteAddr ?? "" }),
      headers: { "Cache-Control": "no-store" },
    }),
  }),
];
