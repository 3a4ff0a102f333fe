// A short move: nobody is alarmed because of it, and everybody who has to be is. The full one is `npm run move`.
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { expectedOf, simulateMove } from "./move.ts";

const here = useDatabase();
const CHECKS = 240;

test("a move alarms nobody, and recoveries and later failures are notified", async () => {
  const { down, stopped } = expectedOf(CHECKS);
  const move = await simulateMove(here, { checkCount: CHECKS, first: 100_000 });
  expect(move).toMatchObject({
    compared: CHECKS,
    differing: 0,
    alarms: 0,
    repeated: 0,
    recoveries: down,
    stopped,
    notices: 1,
  });
  expect(move.takenBack).toBeGreaterThan(0);
});

test("without the gap, the same move raises alarms", async () => {
  const move = await simulateMove(here, { checkCount: CHECKS, first: 200_000, withoutGap: true });
  expect(move.alarms + move.repeated).toBeGreaterThan(0);
});
