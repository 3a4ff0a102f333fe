// What modules of web/ read from the browser when they are loaded, so that their functions can be tested without one.
import { expect } from "vitest";
import type { Boot } from "../../src/contract/api/boot.ts";

const boot: Boot = {
  site: { base: "", url: "http://localhost", name: "Overdue" },
  account: null,
  projects: [],
  page: null,
  now: Date.now(),
  alertDelayMs: null,
  serviceState: "normal",
} as unknown as Boot;

class MemoryStorage {
  readonly #items = new Map<string, string>();
  getItem = (key: string) => this.#items.get(key) ?? null;
  setItem = (key: string, value: string) => void this.#items.set(key, value);
  removeItem = (key: string) => void this.#items.delete(key);
}

if (
  /\/web\/[^/]*(\/[^/]*)*$/.test(expect.getState().testPath ?? "") &&
  !(expect.getState().testPath ?? "").includes("/test/")
) {
  Object.assign(globalThis, {
    document: {
      getElementById: () => ({ textContent: JSON.stringify(boot) }),
      documentElement: { dataset: {} },
      addEventListener: () => undefined,
      hidden: false,
    },
  });
  for (const name of ["sessionStorage", "localStorage"])
    Object.defineProperty(globalThis, name, { value: new MemoryStorage(), configurable: true });
}
