// The published client against the real server: the whole life of a check through it, and what it makes of refusals.
import { OverdueClient, OverdueError } from "../../src/client/client.ts";
import { describe, expect, test } from "vitest";
import { UNKNOWN_KEY, UNKNOWN_UUID, useCast } from "./cast.ts";

const cast = useCast({ roles: ["ping", "api"] });
const RUN = "2f9e4c5a-6d0b-4f43-9c61-8a7e5d1b3c20";

const writer = () => new OverdueClient({ siteUrl: `${cast.site}/`, apiKey: cast.owner.rw });
const reader = () => new OverdueClient<"readOnly">({ siteUrl: cast.site, apiKey: cast.owner.ro });

/** What a call is refused with. */
async function refusalOf(call: Promise<unknown>): Promise<{ status: number; text: string }> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof OverdueError)) throw new Error(`no refusal, but ${String(error)}`);
  return { status: error.status, text: error.text };
}

test("the life of a check: made, pinged, read, flipped, its bodies and badges, deleted", async () => {
  const client = writer();
  await client.getStatus();
  const channel = await cast.channel(cast.owner, { name: "On call", kind: "email" });
  const body = { name: "Nightly backup", slug: "nightly", tags: "prod db", timeout: 3600, channels: "*" };
  const { check: made, isNew } = await client.createCheck(body);
  expect({ isNew, status: made.status, channels: made.channels }).toEqual({
    isNew: true,
    status: "new",
    channels: channel.uuid,
  });
  expect(await client.createCheck({ ...body, grace: 120, unique: ["slug"] })).toMatchObject({
    isNew: false,
    check: { uuid: made.uuid, grace: 120 },
  });

  expect(await client.ping(made.uuid, { action: "start", rid: RUN })).toBe("recorded");
  expect(await client.getCheck(made.uuid)).toMatchObject({ status: "new", started: true, n_pings: 1 });
  await client.ping(made.uuid, { rid: RUN, body: "42 tables\n" });
  await client.ping({ pingKey: cast.owner.pingKey, slug: "nightly" }, { action: 3 });
  expect(await client.getCheck(made.uuid)).toMatchObject({ status: "down", started: false, n_pings: 3 });

  const pings = await client.listPings(made.uuid);
  expect(pings.map(({ n, type, rid }) => ({ n, type, rid }))).toEqual([
    { n: 3, type: "fail", rid: null },
    { n: 2, type: "success", rid: RUN },
    { n: 1, type: "start", rid: RUN },
  ]);
  expect(pings[1]?.duration).toBeGreaterThanOrEqual(0);
  const bytes = await client.getPingBody({ uuid: made.uuid, n: 2 });
  expect(new TextDecoder().decode(bytes)).toBe("42 tables\n");

  const flips = await client.listFlips(made.uuid);
  expect(flips.map(({ up }) => up)).toEqual([0, 1]);
  const newest = Date.parse(flips[0]?.timestamp ?? "") / 1_000;
  expect(await client.listFlips(made.uuid, { start: newest + 1, seconds: 3600 })).toEqual([]);
  expect(await client.listFlips(made.uuid, { end: newest + 1 })).toEqual(flips);

  expect(await client.listChannels()).toEqual([{ id: channel.uuid, name: "On call", kind: "email" }]);
  const badges = await client.listBadges();
  expect(Object.keys(badges)).toEqual(["db", "prod", "*"]);
  const badge = await fetch(badges["prod"]?.json3 ?? "");
  expect(await badge.json()).toMatchObject({ status: "down", down: 1 });

  expect(await client.pauseCheck(made.uuid)).toMatchObject({ status: "paused" });
  expect(await client.resumeCheck(made.uuid)).toMatchObject({ status: "new", n_pings: 3 });
  expect(await client.updateCheck(made.uuid, { desc: "Dumps" })).toMatchObject({
    desc: "Dumps",
    slug: "nightly",
  });
  expect(await client.listChecks({ slug: "nightly", tags: ["db", "prod"] })).toHaveLength(1);
  expect(await client.listChecks({ tags: ["db", "web"] })).toEqual([]);

  expect(await client.deleteCheck(made.uuid)).toMatchObject({ uuid: made.uuid, desc: "Dumps" });
  expect(await client.listChecks()).toEqual([]);
});

test("a read-only key sees what it may see, and changes nothing", async () => {
  const { check } = await writer().createCheck({ name: "Seen" });
  const [seen] = await reader().listChecks();
  expect(seen?.name).toBe("Seen");
  expect(seen).not.toHaveProperty("uuid");
  const key = seen?.unique_key ?? "";
  expect(await reader().getCheck(key)).toEqual(seen);
  expect(await reader().listFlips(key)).toEqual([]);
  expect(await refusalOf(reader().pauseCheck(check.uuid))).toEqual({ status: 403, text: "wrong api key" });
  await writer().deleteCheck(check.uuid);
});

describe("a refusal", () => {
  test("has the server's status and words", async () => {
    expect(await refusalOf(writer().createCheck({ timeout: 1 }))).toEqual({
      status: 400,
      text: "json validation error: timeout is too small",
    });
    expect(await refusalOf(writer().getCheck(UNKNOWN_UUID))).toEqual({ status: 404, text: "not found" });
    expect(await refusalOf(writer().getCheck("../channels"))).toMatchObject({ status: 404 });
    const anyone = new OverdueClient({ siteUrl: cast.site });
    expect(await refusalOf(anyone.listChecks())).toEqual({ status: 401, text: "missing api key" });
    const nobody = new OverdueClient({ siteUrl: cast.site, apiKey: UNKNOWN_KEY });
    expect(await refusalOf(nobody.listBadges())).toEqual({ status: 401, text: "wrong api key" });
  });

  test("of a ping URL is plain text, and is reported as such", async () => {
    expect(await refusalOf(writer().ping(UNKNOWN_UUID))).toEqual({ status: 404, text: "not found" });
    const { pingKey } = cast.owner;
    expect(await writer().ping({ pingKey, slug: "made-here", create: true })).toBe("created");
    expect(await writer().ping({ pingKey, slug: "made-here", create: true })).toBe("recorded");
  });

  test("that is a page of a proxy is truncated", async () => {
    const proxy = () => Promise.resolve(new Response("x".repeat(1_000), { status: 502 }));
    const client = new OverdueClient({ siteUrl: cast.site, fetch: proxy });
    expect(await refusalOf(client.getStatus())).toEqual({ status: 502, text: "x".repeat(200) });
  });
});

test("a server that does not answer is given up", async () => {
  const silent: typeof fetch = (_, init) =>
    new Promise((_resolve, reject) => {
      init?.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error));
    });
  const client = new OverdueClient({ siteUrl: cast.site, timeoutMs: 20, fetch: silent });
  await expect(client.getStatus()).rejects.toMatchObject({ name: "TimeoutError" });
});

test("the other dialect's list of flips is understood", async () => {
  const answer = { flips: [{ timestamp: "2026-03-01T02:31:07+00:00", up: 1 }] };
  const dialect = () => Promise.resolve(Response.json(answer));
  const client = new OverdueClient({ siteUrl: cast.site, fetch: dialect });
  expect(await client.listFlips(UNKNOWN_UUID)).toEqual(answer.flips);
});
