// Bark: interruption levels, and servers of users.
import { expect, test } from "vitest";
import { useReceivers } from "../open-receiver.ts";
import { CONFIGS } from "../sample-kinds.ts";
import { DOWN, GROUP_DOWN, NOTICE, UP } from "../sample-messages.ts";

const open = useReceivers();

test.each([
  ["passive", "passive", "timeSensitive"],
  ["active", "passive", "timeSensitive"],
  ["timeSensitive", "passive", "timeSensitive"],
  ["critical", "passive", "critical"],
])("Bark level %s is %s for a low and %s for a high severity", async (level, low, high) => {
  const { receiver, send } = await open("bark");
  const config = { ...CONFIGS["bark"], level };
  const severities = [
    DOWN,
    { ...DOWN, severity: "low" as const },
    { ...GROUP_DOWN, severity: "high" as const },
  ];
  for (const message of [...severities, { ...UP, severity: "high" as const }, NOTICE])
    await send(message, { config });
  expect(receiver.received.map(({ json }) => json["level"])).toEqual([level, low, high, "active", "passive"]);
});

test("Bark is called on the server of the user", async () => {
  const urls: string[] = [];
  const http = {
    send: async ({ url }: { url: string }) => {
      urls.push(url);
      return { status: 200, headers: {}, text: '{"code":200}' };
    },
  };
  const { send } = await open("bark", { http });
  await send(DOWN, { config: { ...CONFIGS["bark"], url: "https://bark.example.org/ios/" } });
  expect(urls).toEqual(["https://bark.example.org/ios/push"]);
});
