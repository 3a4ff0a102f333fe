// The registry, the files of the kinds, their schemas, the docs and the golden files agree; and a kind that is added by
// one file and one line is a whole one.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { exampleRequest, renderChannelKinds, renderChannelPage } from "../../scripts/render-channels.ts";
import { type ChannelConfig, fieldsOf, readConfig, shownConfig } from "../../src/channels/channel-config.ts";
import { type AnyKind, CATEGORIES, type ChannelKind } from "../../src/channels/channel-kind.ts";
import { configSchema, eventOf, textField } from "../../src/channels/config-fields.ts";
import { sendRequest } from "../../src/channels/http-request.ts";
import { messageText } from "../../src/channels/message-text.ts";
import { kindNamed, KINDS } from "../../src/channels/registry.ts";
import { CONFIGS, DEDUPE_KEY, sampleChannel, sampleSender } from "./sample-kinds.ts";
import { DOWN, GOLDEN, NOW } from "./sample-messages.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const NAMES = KINDS.map(({ name }) => name);

/** The names of the reference; a kind of ours that does the same is called the same. */
const KNOWN = [
  "apprise",
  "call",
  "discord",
  "email",
  "github",
  "googlechat",
  "gotify",
  "group",
  "matrix",
  "mattermost",
  "msteamsw",
  "ntfy",
  "opsgenie",
  "pagertree",
  "pd",
  "po",
  "pushbullet",
  "rocketchat",
  "shell",
  "signal",
  "slack",
  "sms",
  "spike",
  "telegram",
  "trello",
  "victorops",
  "webhook",
  "whatsapp",
  "zulip",
];

/** Kinds that the reference lacks. */
const OWN = [
  "alertmanager",
  "bark",
  "dingtalk",
  "feishu",
  "grafanairm",
  "homeassistant",
  "incidentio",
  "line",
  "sns",
  "threema",
  "webpush",
  "wecom",
];

/** A group sends through its members; emails have golden files of their own; and programs are run. */
const WITHOUT_REQUESTS = ["email", "group", "shell"];

test("the kinds are counted", () => {
  const wanted = [...KNOWN, ...OWN];
  process.stdout.write(`channel kinds: ${NAMES.length} of ${wanted.length}\n`);
  expect(NAMES.filter((name) => !wanted.includes(name))).toEqual([]);
});

test("every kind has a file of its name and a line in the registry", () => {
  const files = readdirSync(join(ROOT, "src", "channels", "kinds")).filter((file) => !/\.test\./.test(file));
  const shared = ["twilio.ts"];
  expect(files.filter((file) => !shared.includes(file)).toSorted()).toEqual(
    NAMES.map((name) => `${name}.ts`).toSorted(),
  );
  expect(NAMES.map((name) => kindNamed(name)?.name)).toEqual(NAMES);
  expect(kindNamed("pigeon")).toBeNull();
});

test("the docs are what the registry says", async () => {
  const folder = join(ROOT, "docs", "guide", "channels");
  const sectionOf = (page: string, name: string) => {
    const text = readFileSync(join(folder, page), "utf8");
    return text.split(`<!-- generated: ${name} -->\n\n`)[1]?.split("\n\n<!-- end -->")[0];
  };
  expect(sectionOf("index.md", "kinds")).toBe(renderChannelKinds());
  for (const kind of KINDS) {
    const section = sectionOf(`${kind.name}.md`, "kind");
    expect(section).toBe(renderChannelPage(kind, await exampleRequest(kind)));
    for (const [name, { description }] of fieldsOf(kind)) {
      expect(section).toContain(`| \`${name}\` |`);
      expect(section).toContain(description);
    }
  }
  const pages = readdirSync(folder).filter((file) => file !== "index.md");
  expect(pages.toSorted()).toEqual(NAMES.map((name) => `${name}.md`).toSorted());
});

test("the example of every kind is a configuration that can be saved", () => {
  for (const kind of KINDS.filter(({ example }) => example !== null)) {
    expect(readConfig(kind, kind.example, { strict: true })).toMatchObject({ ok: true });
  }
});

test.each(KINDS.map((kind) => [kind.name, kind] as const))(
  "the schema of %s can be judged and shown",
  (_name, kind) => {
    expect(kind.schema).toMatchObject({ type: "object", additionalProperties: false });
    for (const [name, field] of fieldsOf(kind)) {
      expect(name).toMatch(/^[a-z][a-z0-9]*(_[a-z]+)*$/);
      expect(field.description).toMatch(/^[A-Z].*[.…]$/);
      expect(field.type ?? field.enum).toBeDefined();
      // Nobody has to give what has a default, and the default has to be one that is taken. A field that the sample
      // sets may be one of several, of which one is required.
      const given = {
        ...(field.default === undefined ? {} : { [name]: field.default }),
        ...CONFIGS[kind.name],
      };
      const read = readConfig(kind, given, { strict: true });
      if (CONFIGS[kind.name] !== undefined) expect(read).toMatchObject({ ok: true });
    }
    expect(kind.title).not.toBe("");
    expect(CATEGORIES).toContain(kind.category);
    expect(kind.guide.length).toBeGreaterThan(0);
    for (const step of kind.guide) expect(step).toMatch(/^[A-Z].*[.:]$/);
    expect(kind.about).toMatch(/^[A-Z].*\.$/);
  },
);

test("a secret is secret: nothing that looks like a key is shown by any kind", () => {
  for (const kind of KINDS) {
    const open = fieldsOf(kind).filter(([, field]) => field.writeOnly !== true);
    expect(open.filter(([name]) => /secret|token|key|code|password|headers|body/.test(name))).toEqual([]);
  }
});

test("every kind that sends by HTTP has a receiver and its golden files, and nothing else has", () => {
  const sender = sampleSender({ http: { send: async () => ({ status: 200, headers: {}, text: "" }) } });
  for (const name of NAMES.filter((one) => CONFIGS[one] !== undefined)) {
    const files = readdirSync(join(import.meta.dirname, "golden", name));
    const heard = Object.entries(GOLDEN).filter(
      ([, message]) => message.kind === "test" || sender.isSubscribed(sampleChannel(name), eventOf(message)),
    );
    expect(files.toSorted()).toEqual(heard.map(([message]) => `${message}.txt`).toSorted());
  }
  const without = NAMES.filter((name) => CONFIGS[name] === undefined);
  expect(without.filter((name) => !WITHOUT_REQUESTS.includes(name))).toEqual([]);
  expect(Object.keys(CONFIGS).filter((name) => !NAMES.includes(name))).toEqual([]);
  expect(existsSync(join(import.meta.dirname, "golden", "group"))).toBe(false);
});

test("a kind that is added by one file and one line can be documented, validated, shown, filtered and sent", async () => {
  type Config = { loft: string };
  // This is the file …
  const pigeon: ChannelKind<Config> = {
    name: "pigeon",
    title: "Carrier pigeon",
    about: "Sends a bird.",
    category: "push",
    icon: null,
    guide: ["Build a loft."],
    example: { loft: "north" },
    schema: configSchema({ loft: textField({ about: "The loft.", lengthMax: 20, secret: true }) }),
    isSubscribed: (_config, what) => what === "down",
    rate: { perMinute: 1, burst: 1 },
    send: (message, { loft }, out) =>
      sendRequest(
        { method: "POST", url: `https://birds.example/${loft}`, body: messageText(message, out).headline },
        out,
      ),
  };
  // … and this the line.
  const kinds: readonly AnyKind[] = [...KINDS, pigeon];

  expect(renderChannelKinds(kinds)).toContain("| [Carrier pigeon](pigeon.md) | `pigeon` | Sends a bird. |");
  expect(renderChannelPage(pigeon, null)).toContain("\n2. Build a loft.\n");
  expect(readConfig(pigeon, {}, { strict: true })).toEqual({
    ok: false,
    text: "loft is required: The loft.",
  });
  const config: ChannelConfig = { loft: "north-tower-7" };
  expect(readConfig(pigeon, config, { strict: true })).toEqual({ ok: true, value: config });
  expect(shownConfig(pigeon, config)).toEqual({ loft: "********" });
  const bodies: unknown[] = [];
  const sender = sampleSender({
    kinds,
    http: {
      send: async ({ body, url }) => {
        bodies.push(body);
        return { status: 201, headers: {}, text: `no bird at ${url}` };
      },
    },
  });
  const channel = sampleChannel("pigeon", config);
  expect(sender.isSubscribed(channel, "up")).toBe(false);
  expect(sender.rateOf("pigeon")).toEqual({ perMinute: 1, burst: 1 });
  expect(await sender.send(channel, DOWN, { dedupeKey: DEDUPE_KEY, attempt: 1, now: NOW })).toEqual({
    kind: "sent",
    summary: "POST birds.example",
    code: 201,
    excerpt: "no bird at https://birds.example/********",
  });
  expect(bodies).toEqual(["Nightly <backup> of *db_1* is DOWN"]);
});

test("setup steps contain links, bold text and code, and no other markup", () => {
  const markup = /\[[^[\]*`]{1,100}\]\(https:\/\/[^\s()]{1,300}\)|\*\*[^*]{1,100}\*\*|`[^`]{1,100}`/g;
  const left = KINDS.flatMap(({ guide }) => guide).filter((step) => /[[\]*`]/.test(step.replace(markup, "")));
  expect(left).toEqual([]);
});
