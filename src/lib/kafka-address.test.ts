import { describe, expect, test } from "vitest";
import { kafkaKind, parseKafkaAddress } from "./kafka-address.ts";

describe("the address of a topic", () => {
  test("names brokers and a topic", () => {
    expect(parseKafkaAddress("kafka://a:9093,b/overdue")).toEqual({
      value: {
        brokers: [
          { host: "a", port: 9093 },
          { host: "b", port: 9092 },
        ],
        topic: "overdue",
        isTls: false,
        sasl: null,
      },
    });
  });

  test("may have TLS, a user, and an IPv6 address", () => {
    const text = "kafkas://me:p%40ss@[::1]:9094/t?sasl=plain";
    const parsed = parseKafkaAddress(text);
    if (!("value" in parsed)) throw new Error(parsed.problem);
    expect(parsed.value).toEqual({
      brokers: [{ host: "::1", port: 9094 }],
      topic: "t",
      isTls: true,
      sasl: { mechanism: "PLAIN", username: "me", password: "p@ss" },
    });
    expect(kafkaKind.print(parsed.value)).toBe(text);
    expect(kafkaKind.mask?.(parsed.value)).toBe("kafkas://me:********@[::1]:9094/t?sasl=plain");
    expect(kafkaKind.secretsIn?.(parsed.value)).toEqual(["p@ss", "p%40ss"]);
  });

  test.each([
    "kafka://a:9092",
    "kafka://a:9092/",
    "http://a/t",
    "kafka://a:99999/t",
    "kafka://a b/t",
    "kafka:///t",
    "kafka://a/t?sasl=md5",
    "kafka://u:%zz@a/t",
    `kafka://${Array.from({ length: 21 }, (_, i) => `b${i}`).join(",")}/t`,
  ])("%s is refused", (text) => {
    expect(parseKafkaAddress(text)).toHaveProperty("problem");
  });
});
