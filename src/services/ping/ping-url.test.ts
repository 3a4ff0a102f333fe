// Every form of a ping URL and its meaning. No input makes the parser throw.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodePing, type PingRequest, settingsIn } from "./ping-url.ts";

const UUID = "0f3a4b5c-1111-4222-8333-444455556666";
const KEY = "abcdefghijklmnopqrstuv";
const RID = "11111111-1111-4111-8111-111111111111";
const BY_UUID = { by: "uuid", uuid: UUID } as const;
const bySlug = (slug: string, pingKey = KEY) => ({ by: "slug", pingKey, slug }) as const;

function asked(expected: Partial<PingRequest>): PingRequest {
  return {
    target: BY_UUID,
    action: "success",
    rid: null,
    flaw: null,
    create: false,
    lateEnd: null,
    ...expected,
  };
}

describe("a URL with a UUID", () => {
  test.each<[string, Partial<PingRequest>]>([
    [`/${UUID}`, {}],
    [`/${UUID}/`, {}],
    [`/${UUID}?`, {}],
    [`/${UUID}?&&&`, {}],
    [`/${UUID}/start`, { action: "start" }],
    [`/${UUID}/fail`, { action: "fail" }],
    [`/${UUID}/log`, { action: "log" }],
    [`/${UUID}/0`, { action: { exitStatus: 0 } }],
    [`/${UUID}/1`, { action: { exitStatus: 1 } }],
    [`/${UUID}/007`, { action: { exitStatus: 7 } }],
    [`/${UUID}/255`, { action: { exitStatus: 255 } }],
    [`/${UUID}/%73tart`, { action: "start" }],
    [`/${UUID}%2Ffail`, { action: "fail" }],
    [
      "/00000000-0000-0000-0000-000000000000",
      { target: { by: "uuid", uuid: "00000000-0000-0000-0000-000000000000" } },
    ],
  ])("%s is parsed as %j", (rest, expected) => {
    expect(decodePing(rest)).toEqual(asked(expected));
  });

  test.each(["256", "99999", `${"0".repeat(40)}256`, "9".repeat(1_500)])(
    "exit status %s is invalid, which is reported only if the check exists",
    (status) => {
      expect(decodePing(`/${UUID}/${status}`)).toEqual(asked({ action: "fail", flaw: "invalidUrl" }));
    },
  );

  test.each([
    "/start/",
    "/fail/",
    "/0/",
    "//",
    "/+1",
    "/1.5",
    "/%E0%A4%A",
    "/start/fail/",
    "/a/b/c/d",
    "/%00",
  ])("%s after it is not found", (end) => {
    expect(decodePing(`/${UUID}${end}`)).toBe("notFound");
  });

  test.each(["/foo", "/-1", "/startx"])("%s after it is a slug, and the UUID its ping key", (end) => {
    expect(decodePing(`/${UUID}${end}`)).toEqual(asked({ target: bySlug(end.slice(1), UUID) }));
  });

  test.each(["/START", "/Fail"])("%s after it is an upper-case slug", (end) => {
    expect(decodePing(`/${UUID}${end}`)).toBe("invalidUrl");
  });

  test.each([
    "",
    "/",
    "/abc",
    UUID,
    `/${UUID.toUpperCase()}`,
    `/${UUID.replaceAll("-", "")}`,
    `/%7B${UUID}%7D`,
    `/${UUID.slice(0, -1)}`,
    `/${UUID}0`,
    `/%20${UUID}`,
  ])("%j is not one", (rest) => {
    expect(decodePing(rest)).toBe("notFound");
  });

  test("create is ignored", () => {
    expect(decodePing(`/${UUID}?create=1&foo=bar&RID=x&%zz=%`)).toEqual(asked({}));
  });
});

describe("a URL with ping key and slug", () => {
  test.each<[string, Partial<PingRequest>]>([
    ["/backup", { target: bySlug("backup") }],
    ["/job_1-a/start", { target: bySlug("job_1-a"), action: "start" }],
    ["/job_1-a/log", { target: bySlug("job_1-a"), action: "log" }],
    ["/job_1-a/7", { target: bySlug("job_1-a"), action: { exitStatus: 7 } }],
    ["/123", { target: bySlug("123") }],
    ["/123/1", { target: bySlug("123"), action: { exitStatus: 1 } }],
    ["/start", { target: bySlug("start") }],
    ["/fail/start", { target: bySlug("fail"), action: "start" }],
    ["/-_0", { target: bySlug("-_0") }],
    ["/fresh?create=1", { target: bySlug("fresh"), create: true }],
    ["/fresh?create=0&create=1", { target: bySlug("fresh"), create: true }],
    ["/fresh?cr%65ate=%31", { target: bySlug("fresh"), create: true }],
    ["/fresh?create=1&create=0", { target: bySlug("fresh") }],
    ["/fresh?create=true", { target: bySlug("fresh") }],
    ["/fresh?create=", { target: bySlug("fresh") }],
    ["/fresh?create", { target: bySlug("fresh") }],
    ["/fresh?create=01", { target: bySlug("fresh") }],
    ["/fresh?create=1+", { target: bySlug("fresh") }],
    ["/fresh?CREATE=1", { target: bySlug("fresh") }],
    ["/fresh??create=1", { target: bySlug("fresh") }],
    ["/q/300?create=1", { target: bySlug("q"), action: "fail", flaw: "invalidUrl", create: true }],
    ["/z?create=1&rid=bad", { target: bySlug("z"), flaw: "invalidRunId", create: true }],
  ])("%s is parsed as %j", (end, expected) => {
    expect(decodePing(`/${KEY}${end}`)).toEqual(asked(expected));
  });

  test.each([
    "/s/",
    "/s/start/",
    "/s/foo",
    "/s/-1",
    "/",
    "/a.b",
    "/a%20b",
    "/%C4%81",
    "/a%2Fb",
    "/a+b",
    "/a~b",
    "//a",
  ])("%s is not found", (end) => {
    expect(decodePing(`/${KEY}${end}?create=1`)).toBe("notFound");
  });

  test.each([`/${KEY}/Known`, `/${KEY}/KNOWN/start`, "/nosuchkey/Known", `/${KEY}/New?create=1`])(
    "%s has an upper-case slug, which is rejected without a lookup",
    (rest) => {
      expect(decodePing(rest)).toBe("invalidUrl");
    },
  );

  test("a slug may have 100 characters; a longer one cannot exist and cannot be created", () => {
    expect(decodePing(`/${KEY}/${"s".repeat(100)}`)).toEqual(asked({ target: bySlug("s".repeat(100)) }));
    expect(decodePing(`/${KEY}/${"s".repeat(101)}`)).toBe("notFound");
    expect(decodePing(`/${KEY}/${"s".repeat(101)}?create=1`)).toBe("invalidUrl");
  });

  test("the letter case of the ping key is kept, and a key that is too long is not looked up", () => {
    expect(decodePing("/Old-Key_1/s")).toEqual(asked({ target: bySlug("s", "Old-Key_1") }));
    expect(decodePing(`/${"k".repeat(100)}/s`)).toEqual(asked({ target: bySlug("s", "k".repeat(100)) }));
    expect(decodePing(`/${"k".repeat(101)}/s`)).toBe("notFound");
  });
});

describe("a run id", () => {
  test.each([
    [`rid=${RID}`, RID],
    ["rid=ABCDEFAB-1111-4111-8111-ABCDEFABCDEF", "abcdefab-1111-4111-8111-abcdefabcdef"],
    ["rid=00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000"],
    [`rid=bad&rid=${RID}`, RID],
    [`a=b&rid=${RID}&c`, RID],
    [`%72id=${RID.replaceAll("-", "%2D")}`, RID],
  ])("%s is accepted", (query, rid) => {
    expect(decodePing(`/${UUID}/start?${query}`)).toEqual(asked({ action: "start", rid }));
  });

  test.each([
    "rid=",
    "rid",
    "rid=abc",
    `rid=${RID.replaceAll("-", "")}`,
    `rid=${RID}0`,
    "rid=11111111-1111-4111-8111-11111111111g",
    `rid=%7B${RID}%7D`,
    `rid=urn:uuid:${RID}`,
    `rid=%20${RID}`,
    `rid=+${RID}`,
    `rid=${RID}%zz`,
    `rid=${RID}&rid=bad`,
    `%72id=bad`,
  ])("%s is invalid", (query) => {
    expect(decodePing(`/${UUID}?${query}`)).toEqual(asked({ flaw: "invalidRunId" }));
  });

  test("an impossible exit status is reported before it", () => {
    expect(decodePing(`/${UUID}/256?rid=bad`)).toEqual(asked({ action: "fail", flaw: "invalidUrl" }));
  });
});

describe("a late end", () => {
  const AT = Date.UTC(2026, 10, 17, 2, 30);
  const end = (ranMs: number | null = null) => ({ endedAt: AT, ranMs });

  test.each([
    ["at=2026-11-17T02:30:00Z", end()],
    ["at=2026-11-17t02:30:00.000z&ran=12.5", end(12_500)],
    ["at=2026-11-17T03:30:00%2B01:00&ran=0", end(0)],
    ["at=2026-11-17T03:30:00+01:00", end()],
    [`at=${AT / 1000}&ran=x`, end()],
    [`at=${AT / 1000}.0009&ran=-1`, end()],
    [`at=x&at=${AT / 1000}&ran=31536001`, end()],
    [`rid=${RID}&at=${AT / 1000}&ran=60`, end(60_000)],
  ])("%s is read", (query, lateEnd) => {
    for (const path of [`/${UUID}`, `/${UUID}/fail`, `/${UUID}/7`, `/${KEY}/job`]) {
      expect(decodePing(`${path}?${query}`)).toMatchObject({ lateEnd, flaw: null });
    }
  });

  test.each([
    "at=",
    "at",
    "at=home",
    "at=2026-11-17",
    "at=2026-11-17T02:30:00",
    "at=2026-02-30T02:30:00Z",
    "at=2026-11-17T25:00:00Z",
    "at=-1",
    "at=1e9",
    "at=999999999999",
    "at=%",
    "ran=5",
    "what=5",
    "that=1763346600",
  ])("%s is none: an ordinary ping", (query) => {
    expect(decodePing(`/${UUID}?${query}`)).toEqual(asked({}));
  });

  test("is none of a start or a log entry", () => {
    expect(decodePing(`/${UUID}/start?at=1`)).toEqual(asked({ action: "start" }));
    expect(decodePing(`/${UUID}/log?at=1`)).toEqual(asked({ action: "log" }));
  });
});

describe("settings in a URL", () => {
  test("are decoded like a form; the last of repeated ones counts", () => {
    expect(
      settingsIn(
        `/ping/${KEY}/job?create=1&name=Nightly+backup%20%C3%A9&tags=a&tags=b+c&timeout=1h&gr%61ce=120`,
      ),
    ).toEqual({
      params: { name: "Nightly backup é", tags: "b c", timeoutSeconds: 3_600, graceSeconds: 120 },
      policy: {},
      warning: null,
    });
    expect(settingsIn(`/ping/${KEY}/job`)).toEqual({ params: {}, policy: {}, warning: null });
  });

  test("that cannot be decoded are ignored with a warning", () => {
    expect(settingsIn("/x?name=%E4&desc=%zz&schedule=%")).toEqual({
      params: {},
      policy: {},
      warning:
        "Ignored settings: name is not valid percent-encoded UTF-8; desc is not valid percent-encoded UTF-8; schedule is not valid percent-encoded UTF-8.",
    });
  });

  test("never throw, and the warning is a short ASCII line", () => {
    const names = fc.constantFrom(
      "name",
      "tags",
      "desc",
      "timeout",
      "schedule",
      "tz",
      "grace",
      "max_run",
      "channels",
    );
    const pairs = fc.array(fc.tuple(fc.oneof(names, fc.string()), fc.string({ unit: "binary" })), {
      maxLength: 15,
    });
    fc.assert(
      fc.property(pairs, fc.boolean(), (given, isEncoded) => {
        const encode = (text: string) => (isEncoded ? encodeURIComponent(text.toWellFormed()) : text);
        const { warning } = settingsIn(
          `/x?${given.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&")}`,
        );
        if (warning !== null) expect(warning).toMatch(/^[ -~]{1,1000}$/);
      }),
    );
  });
});

describe("any input", () => {
  const segment = fc.oneof(
    fc.constantFrom(
      UUID,
      KEY,
      "start",
      "fail",
      "log",
      "0",
      "256",
      "backup",
      "Known",
      "",
      "%",
      "%2F",
      "..",
      "s".repeat(101),
    ),
    fc.string({ maxLength: 8 }),
  );
  const query = fc.oneof(
    fc.constantFrom("", "?", "?create=1", `?rid=${RID}`, "?rid=x", "?%", "?rid=%&create=+1"),
    fc.string({ maxLength: 12 }).map((text) => `?${text}`),
  );
  const rest = fc.oneof(
    fc.string(),
    fc.tuple(fc.array(segment, { maxLength: 5 }), query).map(([path, text]) => `/${path.join("/")}${text}`),
  );

  test("is rejected, or parsed into a request that can be stored", () => {
    fc.assert(
      fc.property(rest, (text) => {
        const decoded = decodePing(text);
        if (typeof decoded === "string") return ["notFound", "invalidUrl"].includes(decoded);
        const { target, action, rid } = decoded;
        if (target.by === "uuid") expect(target.uuid).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
        else expect(`${target.pingKey}/${target.slug}`).toMatch(/^[-\w]{1,100}\/[-a-z0-9_]{1,100}$/);
        if (typeof action !== "string")
          expect(action.exitStatus).toSatisfy((n: number) => n >= 0 && n <= 255);
        if (rid !== null) expect(rid).toMatch(/^[0-9a-f-]{36}$/);
        if (target.by === "uuid") expect(decoded.create).toBe(false);
        return true;
      }),
      { numRuns: 2_000 },
    );
  });

  test("percent-encoding any part of a path changes nothing", () => {
    const encodedAt = (text: string, at: number) =>
      `${text.slice(0, at)}%${text.charCodeAt(at).toString(16).padStart(2, "0")}${text.slice(at + 1)}`;
    fc.assert(
      fc.property(
        fc.constantFrom(`/${UUID}`, `/${UUID}/start`, `/${KEY}/backup/log`, `/${UUID}/256`, `/${UUID}/START`),
        fc.nat(),
        (path, n) => {
          const at = 1 + (n % (path.length - 1));
          expect(decodePing(encodedAt(path, at))).toEqual(decodePing(path));
        },
      ),
    );
  });

  test("unknown parameters are ignored", () => {
    const name = fc
      .string({ minLength: 1, maxLength: 6 })
      .filter((text) => !["rid", "create", "at"].includes(text));
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.string({ maxLength: 6 })), { maxLength: 4 }), (pairs) => {
        const extra = pairs
          .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`)
          .join("&");
        const known = `rid=${RID}&create=1`;
        expect(decodePing(`/${KEY}/s?${extra}&${known}`)).toEqual(decodePing(`/${KEY}/s?${known}`));
        expect(decodePing(`/${KEY}/s?${known}&${extra}`)).toEqual(decodePing(`/${KEY}/s?${known}`));
      }),
    );
  });
});
