// Every page that the server serves has a component, and its URL matches its path.
import { describe, expect, test } from "vitest";
import { PAGE_PATHS } from "../src/contract/api/boot.ts";
import { PAGES } from "./app.tsx";
import { pageHref, pathOf } from "./page-location.ts";

describe("The pages", () => {
  test("are those that the server serves, each rendered by one component", () => {
    const drawn = PAGES.flatMap(({ names }) => names);
    expect(drawn.toSorted()).toEqual(PAGE_PATHS.map(({ name }) => name).toSorted());
  });

  test("have URLs with every parameter of their path filled in", () => {
    for (const { name, path } of PAGE_PATHS) {
      const href = pageHref(name, { project: "p", check: "c", n: "7" });
      expect(pathOf(name)).toBe(path);
      expect(href).not.toContain(":");
      expect(href.split("/")).toHaveLength(path.split("/").length);
    }
  });
});
