// Opsgenie: where requests go.
import { expect, test } from "vitest";
import { useReceivers } from "../open-receiver.ts";
import { CONFIGS } from "../sample-kinds.ts";
import { DOWN, UP } from "../sample-messages.ts";

const open = useReceivers();

test.each([
  ["jsm", "https://api.atlassian.com/jsm/ops/integration/v2/alerts"],
  ["us", "https://api.opsgenie.com/v2/alerts"],
  ["eu", "https://api.eu.opsgenie.com/v2/alerts"],
])("the region %s is called where it is", async (region, address) => {
  const urls: string[] = [];
  const http = {
    send: async ({ url }: { url: string }) => {
      urls.push(url);
      return { status: 202, headers: {}, text: "" };
    },
  };
  const { send } = await open("opsgenie", { http });
  const config = { ...CONFIGS["opsgenie"], region };
  await send(DOWN, { config });
  await send(UP, { config });
  const alias = "a6c7b0a8a66bed0df66abfdab3c77736861703ee";
  expect(urls).toEqual([address, `${address}/${alias}/close?identifierType=alias`]);
});
