// How responses are handled: a value, an error message that can be shown, or a redirect to the sign-in page.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type ApiError, get, send } from "./api.ts";

vi.mock("./boot.ts", () => ({
  boot: { account: { email: "sam@example.org" }, site: { base: "/below" } },
  siteUrl: (path: string) => `/below${path}`,
}));

const fetched = vi.fn<typeof fetch>();
const assign = vi.fn<(url: string) => void>();

beforeEach(() => {
  fetched.mockReset();
  assign.mockReset();
  vi.stubGlobal("fetch", fetched);
  vi.stubGlobal("location", { pathname: "/below/checks/", search: "?tag=db", assign });
});
afterEach(() => vi.unstubAllGlobals());

const answers = (status: number, body: string) =>
  fetched.mockResolvedValueOnce(new Response(body === "" ? null : body, { status }));

/** What a refused request throws. */
const errorOf = (asked: Promise<unknown>) =>
  asked.then(
    () => {
      throw new Error("it was answered");
    },
    (error: unknown) => error as ApiError,
  );

test("a response is its value", async () => {
  answers(200, '{"rows":[1]}');
  expect(await get("/rows")).toEqual({ rows: [1] });
  expect(fetched.mock.lastCall?.[0]).toBe("/below/web/rows");
  answers(204, "");
  expect(await send("DELETE", "/checks/a")).toBeNull();
});

test("a refusal has the server's message and the field that it is about", async () => {
  answers(400, '{"error":"name is too long.","field":"name"}');
  const trouble = await errorOf(send("POST", "/projects", { name: "x" }));
  expect([trouble.message, trouble.field, trouble.status]).toEqual(["name is too long.", "name", 400]);
  expect(assign).not.toHaveBeenCalled();
});

test("a proxy's page instead of our response, and no response, give a message", async () => {
  answers(502, "<html>Bad gateway</html>");
  const proxy = await errorOf(get("/rows"));
  fetched.mockRejectedValueOnce(new TypeError("Failed to fetch"));
  const noResponse = await errorOf(get("/rows"));
  expect([proxy.status, noResponse.status]).toEqual([502, 0]);
  for (const { message } of [proxy, noResponse]) expect(message).toMatch(/^[A-Z].*\.$/);
  expect(proxy.message).not.toBe(noResponse.message);
});

test("an incomplete response gives a message of ours, not the browser's", async () => {
  const broken = new Response("", { status: 200 });
  vi.spyOn(broken, "text").mockRejectedValueOnce(new TypeError("network error"));
  fetched.mockResolvedValueOnce(broken);
  const trouble = await errorOf(get("/rows"));
  expect([trouble.name, trouble.status]).toEqual(["Trouble", 0]);
  expect(trouble.message).toMatch(/^[A-Z].*\.$/);
});

test("an ended session redirects to the sign-in page, and from there back to this page", async () => {
  answers(401, '{"error":"You are not signed in."}');
  await errorOf(get("/rows"));
  expect(assign.mock.calls).toEqual([["/below/accounts/login/?next=%2Fchecks%2F%3Ftag%3Ddb"]]);
});

test("a request that requires re-authentication redirects there, and a forbidden one does not", async () => {
  answers(403, '{"error":"Re-authenticate to continue.","reauth":true}');
  expect((await errorOf(send("POST", "/account/close"))).needsProof).toBe(true);
  expect(assign.mock.calls).toEqual([["/below/accounts/confirm/?next=%2Fchecks%2F%3Ftag%3Ddb"]]);
  answers(403, '{"error":"Your role does not allow that."}');
  expect((await errorOf(send("POST", "/checks/a/pause"))).needsProof).toBe(false);
  expect(assign).toHaveBeenCalledOnce();
});
