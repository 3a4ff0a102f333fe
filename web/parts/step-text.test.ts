// The markup of setup steps.
import { expect, test } from "vitest";
import { stepParts } from "./step-text.tsx";

test("links, bold text and code are recognized, and nothing else", () => {
  expect(stepParts("Open [your apps](https://a.example/x), choose **Create**, send `/start`. *No*")).toEqual([
    { kind: "text", text: "Open " },
    { kind: "link", text: "your apps", url: "https://a.example/x" },
    { kind: "text", text: ", choose " },
    { kind: "bold", text: "Create" },
    { kind: "text", text: ", send " },
    { kind: "code", text: "/start" },
    { kind: "text", text: ". *No*" },
  ]);
  expect(stepParts("[click](javascript:alert)")).toEqual([
    { kind: "text", text: "[click](javascript:alert)" },
  ]);
});
