// Whatever is sent to our own API, it never fails: bad bodies, odd values in every field, torn requests. A fixed seed
// makes a finding repeatable.
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { fieldsOf } from "../../src/channels/channel-config.ts";
import { KINDS } from "../../src/channels/registry.ts";
import type { Channel } from "../../src/contract/api/channels.ts";
import { API_PATH } from "../../src/contract/api/route.ts";
import { useCast } from "../management/cast.ts";
import { askApi, newChannel } from "./asking.ts";

const cast = useCast({ settings: { OVERDUE_API_RATE_LIMIT: "0" } });
const SEED = 815;

// A bound for what hangs: hundreds of requests take a while on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const odd = fc.oneof(
  // What a database takes worst.
  fc.constantFrom<unknown>("\u0000", "a\u0000b", "\ud800", { "\u0000": "\u0000" }, ["\u0000"]),
  fc.constantFrom<unknown>(
    null,
    "",
    "*",
    "\u0000",
    "\ud800",
    "x".repeat(20_000),
    -1,
    1e308,
    2 ** 53,
    [],
    {},
    [null],
    true,
    "********",
    "http://[::1",
    "https://example.org/\u0000",
    "2001-01-01",
    { __proto__: 1, constructor: 2 },
  ),
  fc.jsonValue({ maxDepth: 3 }),
);

/** A good configuration of each kind. */
const GOOD: Readonly<Record<string, object>> = {
  email: { value: "fuzz@example.org" },
  webhook: { url_down: "https://example.org/x" },
  slack: { url: "https://hooks.slack.com/services/T1/B1/x" },
  discord: { url: "https://discord.com/api/webhooks/1/x" },
  telegram: { chat_id: "1" },
  ntfy: { topic: "x" },
  pd: { routing_key: "x".repeat(32) },
};

/** A body in which everything is right but one thing, or two. */
const body = fc.constantFrom(...KINDS.filter(({ name }) => name !== "group")).chain((kind) => {
  const fields = fieldsOf(kind).map(([name]) => `config.${name}`);
  const place = fc.constantFrom(
    "kind",
    "name",
    "config",
    "isEnabled",
    "checks",
    "extra",
    "config.extra",
    ...fields,
  );
  return fc.array(fc.tuple(place, odd), { minLength: 1, maxLength: 2 }).map((oddities) => {
    const sent: Record<string, unknown> = { kind: kind.name, config: { ...GOOD[kind.name] } };
    for (const [where, value] of oddities) {
      const [, field] = where.split(".");
      if (field === undefined) sent[where] = value;
      else if (typeof sent["config"] === "object") sent["config"] = { ...sent["config"], [field]: value };
    }
    return sent;
  });
});

test("odd values never make it fail, and rejections are problem documents", async () => {
  const statuses = new Set<number>();
  const { id } = await newChannel(cast);
  await fc.assert(
    fc.asyncProperty(body, fc.boolean(), async (sent, isNew) => {
      const path = isNew ? "/projects/{project}/channels" : `/channels/${id}`;
      // The sample is of one kind only.
      if (!isNew) sent["kind"] = "slack";
      const reply = await askApi(cast, path, {
        method: isNew ? "POST" : "PATCH",
        key: cast.owner.rw,
        body: sent,
      });
      statuses.add(reply.status);
      expect(reply.status, reply.text).toBeLessThan(500);
      if (reply.status === 201) {
        const made = await askApi(cast, `/channels/${(reply.json["channel"] as Channel).id}`, {
          method: "DELETE",
          key: cast.owner.rw,
        });
        expect(made.status).toBe(204);
      }
    }),
    { seed: SEED, numRuns: 400 },
  );
  expect([...statuses].toSorted((one, other) => one - other)).toEqual([200, 201, 400]);
});

test("bytes that are no JSON, deep nests and huge bodies are refused", async () => {
  const bodies: (string | Uint8Array)[] = [
    "{",
    "[]",
    '"x"',
    "nul",
    "\ufeff{}",
    `${"[".repeat(200)}${"]".repeat(200)}`,
    new Uint8Array([0xff, 0xfe, 0x00]),
    `{"name": "${"x".repeat(3 * 1024 * 1024)}"}`,
  ];
  for (const sent of bodies) {
    const reply = await askApi(cast, "/projects/{project}/channels", {
      method: "POST",
      key: cast.owner.rw,
      body: sent,
    });
    expect([400, 413]).toContain(reply.status);
  }
});

test("odd paths, queries, headers and methods never make it fail", async () => {
  const { id } = await newChannel(cast);
  const text = fc
    .string({ unit: "binary", maxLength: 40 })
    .map((one) => encodeURIComponent(one.toWellFormed()));
  const segment = fc.oneof(
    text,
    fc.constantFrom(
      "channels",
      "projects",
      cast.owner.project.uuid,
      "deliveries",
      "channel-kinds",
      "test",
      id,
      "1",
      "%",
      "%00",
      "..",
    ),
  );
  const latin = fc.string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCodePoint(code)),
    maxLength: 60,
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(segment, { maxLength: 5 }),
      text,
      fc.constantFrom("GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS", "HEAD"),
      latin,
      async (segments, query, method, header) => {
        // The sample stays: only its own address deletes it.
        if (method === "DELETE" && segments.includes(id)) return;
        const path = `${API_PATH}/${segments.join("/")}?cursor=${query}&limit=${query}&${query}`;
        const { status } = await cast.ask(path, {
          method,
          key: cast.owner.rw,
          headers: { "If-Match": header, "Idempotency-Key": header },
        });
        expect(status, `${method} ${path}`).toBeLessThan(500);
      },
    ),
    { seed: SEED, numRuns: 250 },
  );
});
