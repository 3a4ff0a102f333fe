// A short run of the dashboard's fuzzer, and the fuzzer itself: it makes every kind of request, and the same ones again.
import { expect, test } from "vitest";
import { chanceOf } from "../fuzz/chance.ts";
import { fuzzWeb } from "../fuzz/web/fuzz-web.ts";
import { FAULT_KINDS, webAttempt, type WebTargets } from "../fuzz/web/requests.ts";
import { WEB_ROUTES } from "../src/services/web/routes.ts";

/** A bound for what hangs: a quiet machine needs a tenth of it. */
const RUN_MS_MAX = 600_000;
const [route, ...routes] = WEB_ROUTES;

function made(seed: number, count: number) {
  if (route === undefined) throw new Error("there are no routes");
  const targets: WebTargets = {
    routes: [route, ...routes],
    origin: "http://localhost:8000",
    actors: [{ token: "t", names: { project: "p" } }],
  };
  return Array.from({ length: count }, (_, number) => webAttempt(chanceOf({ seed, number }), targets));
}

test(
  "finds nothing that the dashboard cannot stand",
  async () => {
    expect(await fuzzWeb({ seed: 4, first: 0, count: 500, triesAgainMax: 20 })).toBe(true);
  },
  RUN_MS_MAX,
);

test("makes the same request of the same seed, for every route and of every kind", () => {
  const attempts = made(1, 5_000);
  expect(made(1, 50)).toEqual(attempts.slice(0, 50));
  expect(new Set(attempts.map(({ fault }) => fault)).size).toBe(FAULT_KINDS.length);
  expect(new Set(attempts.map(({ route: { name } }) => name)).size).toBe(
    new Set(WEB_ROUTES.map(({ name }) => name)).size,
  );
});
