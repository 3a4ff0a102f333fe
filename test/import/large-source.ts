// A source of any size: checks and pings are made as they are read, always the same.
import type { ImportSource, SourcePing } from "../../src/core/import-source.ts";
import type { Instant } from "../../src/core/instant.ts";
import {
  memorySource,
  missDeadline,
  pingedCheck,
  sourceAccount,
  sourceChannel,
  sourceProject,
  uuidOf,
} from "./memory-source.ts";

export type LargeOptions = {
  checkCount: number;
  pingsPerCheck: number;
  now: Instant;
  /** Called before anything is read, with a running number. */
  onRead?: (step: number) => void;
};

/** Projects of the source; each is one transaction. */
const PROJECTS = 4;
const DOWN_EVERY = 20;

export function largeSource({ checkCount, pingsPerCheck, now, onRead }: LargeOptions): ImportSource {
  let step = 0;
  const next = () => {
    step += 1;
    onRead?.(step);
  };
  const perProject = Math.ceil(checkCount / PROJECTS);
  const make = (number: number) => {
    const channelUuids = [uuidOf(1 + Math.floor(number / perProject), 2)];
    const agoMs = ((number % 50) + 1) * 60_000;
    const one = pingedCheck(number, { now, count: pingsPerCheck, agoMs, channelUuids });
    if (number % DOWN_EVERY === 3) missDeadline(one);
    return one;
  };
  const numberOf = (uuid: string) => Number.parseInt(uuid.slice(-12), 16);
  const base = memorySource({
    name: `a large source of ${checkCount} checks`,
    accounts: [sourceAccount("large@example.org")],
    projects: Array.from({ length: PROJECTS }, (_, index) => ({
      project: sourceProject(index + 1, {
        ownerEmail: "large@example.org",
        channels: [sourceChannel(index + 1)],
      }),
      checks: [],
    })),
  });
  return {
    ...base,
    accounts: async () => {
      next();
      return base.accounts();
    },
    projects: async () => {
      next();
      const projects = await base.projects();
      return projects.map((project) => ({ ...project, checkCount: perProject }));
    },
    async *checks({ ref }) {
      const pageLength = 500;
      const from = (Number(ref) - 1) * perProject;
      const to = Math.min(from + perProject, checkCount);
      for (let number = from; number < to; number += pageLength) {
        next();
        const count = Math.min(pageLength, to - number);
        yield Array.from({ length: count }, (_, index) => make(number + index).check);
      }
    },
    async *pings({ uuid }, after) {
      next();
      yield make(numberOf(uuid)).pings.filter((ping: SourcePing) => ping.number > after);
    },
    flips: async ({ uuid }) => {
      next();
      return make(numberOf(uuid)).flips;
    },
  };
}
