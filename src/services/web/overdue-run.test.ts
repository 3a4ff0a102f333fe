import { expect, test } from "vitest";
import { withPingUrl } from "./overdue-run.ts";

const SCRIPT = "#!/bin/sh\nod_default='' # A server fills in its ping URL.\necho od_default=''\n";

test("the ping URL becomes the default of the script", () => {
  expect(withPingUrl(SCRIPT, "https://overdue.example.org/$&/ping")).toBe(
    "#!/bin/sh\nod_default='https://overdue.example.org/$&/ping' # A server fills in its ping URL.\necho od_default=''\n",
  );
});

test.each(["https://o'hara.example.org/ping", "https://x/\\ping", "https://x/a b"])(
  "a URL that has a meaning for the shell is left out: %s",
  (url) => {
    expect(withPingUrl(SCRIPT, url)).toBe(SCRIPT);
  },
);
