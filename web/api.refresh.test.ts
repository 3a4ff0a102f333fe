// What is fetched when a check is refetched, and in which order.
import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, onTestFinished, test } from "vitest";
import { checkKey, refreshCheck } from "./api.ts";

test("the row is fetched before anything else is requested", async () => {
  const client = new QueryClient();
  const steps: string[] = [];
  const watch = (name: string, queryKey: readonly string[]) => {
    const queryFn = async () => {
      steps.push(`${name} asked`);
      await new Promise((resolve) => setTimeout(resolve, 1));
      steps.push(`${name} there`);
      return name;
    };
    const options = { queryKey, queryFn, initialData: "before", staleTime: Infinity };
    onTestFinished(new QueryObserver(client, options).subscribe(() => {}));
  };
  watch("runs", [...checkKey("a"), "runs"]);
  watch("row", checkKey("a"));
  watch("other row", checkKey("b"));
  await refreshCheck(client, "a");
  expect(steps).toEqual(["row asked", "row there", "runs asked", "runs there"]);
});
