// Splunk On-Call: the URL as it is shown there has a placeholder at its end.
import { expect, test } from "vitest";
import { CONFIG_RULES } from "../../../src/channels/registry.ts";

test.each([
  ["https://alert.victorops.com/integrations/generic/20131114/alert/key/$routing_key", false],
  ["https://alert.victorops.com/integrations/generic/20131114/alert/key/%24routing_key", false],
  ["https://alert.victorops.com/integrations/generic/20131114/alert/key/database", true],
])("%s is accepted: %s", (url, ok) => {
  expect(CONFIG_RULES.read("victorops", { url })).toMatchObject({ ok });
});
