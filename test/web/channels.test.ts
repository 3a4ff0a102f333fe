// Channels by the dashboard: made, changed, tested, and their log read, by people of different rights.
import { beforeAll, describe, expect, test } from "vitest";
import type { Channel, CreatedChannel, Delivery } from "../../src/contract/api/channels.ts";
import { useDashboard } from "./dashboard.ts";

const stage = useDashboard({ settings: { OVERDUE_SMTP_HOST: "127.0.0.1", OVERDUE_SMTP_TLS: "none" } });
const SECRET_ADDRESS = "https://hooks.example.org/very-secret-path";

type ChannelsPage = { channels: Channel[]; next: string | null };

let channels = "";
let made: CreatedChannel;

beforeAll(async () => {
  channels = `/api/overdue/v1/projects/${stage.owner.project.uuid}/channels`;
  const reply = await stage.browse(channels, {
    method: "POST",
    body: { kind: "webhook", name: "ops", config: { url_down: SECRET_ADDRESS }, checks: "*" },
  });
  if (reply.status !== 201) throw new Error(`The channel was not made: ${reply.text}`);
  made = reply.json as CreatedChannel;
});

describe("a channel", () => {
  test("shows what was made for it once, and its secrets never", async () => {
    expect(made.generated["secret"]).toMatch(/^whsec_/);
    const reply = await stage.browse(channels);
    const page = reply.json as ChannelsPage;
    expect(page.channels.map(({ id, name, isEnabled }) => [id, name, isEnabled])).toEqual([
      [made.channel.id, "ops", true],
    ]);
    expect(reply.text).not.toContain("very-secret-path");
    expect(reply.text).not.toContain(made.generated["secret"]);
  });

  test("is listed, also in a project with more channels than a new one may have", async () => {
    const { pool } = stage.db;
    const { rows } = await pool.query<{ id: number }>(
      `insert into channels (uuid, project_id, kind, name, config, created_at)
       select gen_random_uuid(), id, 'slack', '', '{}', now() from projects, generate_series(1, 150)
       where uuid = $1 returning id`,
      [stage.owner.project.uuid],
    );
    const first = (await stage.browse(`${channels}?limit=100`)).json as ChannelsPage;
    const second = (await stage.browse(`${channels}?limit=100&cursor=${first.next}`)).json as ChannelsPage;
    expect([first.channels.length, second.channels.length, second.next]).toEqual([100, 51, null]);
    await pool.query("delete from channels where id = any ($1::bigint[])", [rows.map(({ id }) => id)]);
  });

  test("is changed, and keeps what is not mentioned", async () => {
    const path = `/api/overdue/v1/channels/${made.channel.id}`;
    const reply = await stage.browse(path, {
      method: "PATCH",
      body: { name: "night shift", isEnabled: false },
    });
    expect(reply.json as Channel).toMatchObject({ name: "night shift", isEnabled: false });
    await stage.browse(path, { method: "PATCH", body: { name: "ops", isEnabled: true } });
    expect((await stage.browse(path)).json).toMatchObject({
      name: "ops",
      isEnabled: true,
      disabledReason: null,
    });
  });

  test("with a mistake in it is refused by a sentence that names the field", async () => {
    const body = { kind: "webhook", name: "x", config: { url_dwon: "https://example.org" } };
    const reply = await stage.browse(channels, { method: "POST", body });
    expect(reply.status).toBe(400);
    expect((reply.json as { detail: string }).detail).toBe(
      'Webhook has no field "url_dwon". Did you mean url_down?',
    );
  });

  test("that leads into a private network is saved, with a warning that names the setting", async () => {
    const text = expect.stringMatching(/^127\.0\.0\.1:8065 is on .*OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS=true/);
    const config = { url_down: "http://127.0.0.1:8065/hooks/very-secret-path", url_up: SECRET_ADDRESS };
    const typed = await stage.browse(`${channels}/warnings`, {
      method: "POST",
      body: { kind: "webhook", config },
    });
    expect([typed.status, typed.json]).toEqual([200, { warnings: [{ field: "url_down", text }] }]);
    const reply = await stage.browse(channels, {
      method: "POST",
      body: { kind: "webhook", name: "inside", config },
    });
    const { channel } = reply.json as CreatedChannel;
    expect([reply.status, channel.warnings]).toEqual([201, [{ field: "url_down", text }]]);
    expect(reply.text).not.toContain("very-secret-path");
    const path = `/api/overdue/v1/channels/${channel.id}`;
    expect((await stage.browse(path)).json).toMatchObject({ warnings: [{ text }] });
    const changed = await stage.browse(path, { method: "PATCH", body: { config: { url_down: "" } } });
    expect(changed.json).toMatchObject({ warnings: [] });
    await stage.browse(path, { method: "DELETE" });
  });

  test("can be tested, and the test is in its log", async () => {
    const path = `/api/overdue/v1/channels/${made.channel.id}`;
    const planned = await stage.browse(`${path}/test`, { method: "POST" });
    expect(planned.status).toBe(202);
    const log = (await stage.browse(`${path}/deliveries`)).json as { deliveries: Delivery[] };
    expect(log.deliveries).toMatchObject([{ kind: "test", state: "pending", check: null }]);
    const [delivery] = log.deliveries;
    const one = `/api/overdue/v1/projects/${stage.owner.project.uuid}/deliveries/${delivery?.id}`;
    expect((await stage.browse(one)).json).toEqual(delivery);
    // What still waits for its turn is only told to hurry.
    expect((await stage.browse(`${one}/retry`, { method: "POST" })).json).toMatchObject({ state: "pending" });
    expect((await stage.browse(one.replace(/\d+$/, "x"))).status).toBe(404);
  });

  test("counts as notifying only if it is enabled and its address is confirmed, a group by its members", async () => {
    const ids: Record<string, string> = { ops: made.channel.id };
    const make = async (name: string, kind: string, config: object) => {
      const body = { kind, name, config };
      const { channel } = (await stage.browse(channels, { method: "POST", body })).json as CreatedChannel;
      ids[name] = channel.id;
    };
    const told = async () => {
      const page = (await stage.browse(channels)).json as ChannelsPage;
      const notified = page.channels.filter(({ notifies }) => notifies).map(({ id }) => id);
      return Object.keys(ids).filter((name) => notified.includes(ids[name] ?? ""));
    };
    const turn = (name: string, isEnabled: boolean) =>
      stage.browse(`/api/overdue/v1/channels/${ids[name]}`, { method: "PATCH", body: { isEnabled } });
    await make("member", "email", { value: stage.owner.account.email });
    await make("unasked", "email", { value: "somebody@example.org" });
    await make("all", "group", { members: [ids["ops"], ids["unasked"]] });
    await make("vain", "group", { members: [ids["unasked"]] });
    expect(await told()).toEqual(["ops", "member", "all"]);
    await turn("ops", false);
    await turn("member", false);
    expect(await told()).toEqual(["all"]);
    await turn("all", false);
    expect(await told()).toEqual([]);
    await turn("ops", true);
    for (const name of ["vain", "all", "unasked", "member"]) {
      await stage.browse(`/api/overdue/v1/channels/${ids[name]}`, { method: "DELETE" });
    }
    expect(await told()).toEqual(["ops"]);
  });

  test("tells of which checks it hears, and of no others", async () => {
    const checks = `/api/overdue/v1/projects/${stage.owner.project.uuid}/checks`;
    const make = async (name: string, heard: string[]) =>
      (
        (await stage.browse(checks, { method: "POST", body: { name, channels: heard } })).json as {
          id: string;
        }
      ).id;
    const id = await make("heard", [made.channel.id]);
    const other = await make("unheard", []);
    const path = `/api/overdue/v1/channels/${made.channel.id}/checks`;
    const checksOf = async () => {
      const { checks: found } = (await stage.browse(path)).json as { checks: { id: string }[] };
      return found.map((check) => check.id);
    };
    expect(await checksOf()).toContain(id);
    expect(await checksOf()).not.toContain(other);
    await stage.browse(`/api/overdue/v1/checks/${id}`, { method: "PATCH", body: { channels: [] } });
    expect(await checksOf()).not.toContain(id);
  });

  test("is gone when it was deleted", async () => {
    const body = { kind: "webhook", name: "brief", config: { url_up: SECRET_ADDRESS } };
    const { channel } = (await stage.browse(channels, { method: "POST", body })).json as CreatedChannel;
    const path = `/api/overdue/v1/channels/${channel.id}`;
    expect((await stage.browse(path, { method: "DELETE" })).status).toBe(204);
    expect((await stage.browse(path)).status).toBe(404);
  });
});
