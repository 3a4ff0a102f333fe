// Discord's webhooks, by the pages "Execute Webhook" and "Embed Limits" of https://discord.com/developers/docs.
import {
  isText,
  jsonProblems,
  objectsOf,
  type KindReceiver,
  type Receiver,
  said,
  startReceiver,
  type Verdict,
} from "../receiver.ts";

const PATH = /^\/api\/(v\d+\/)?webhooks\/\d+\/[\w-]+(\?.*)?$/;
const EMBEDS_MAX = 10;
const FIELDS_MAX = 25;
const EMBED_TOTAL_MAX = 6_000;

export const DISCORD_PATH =
  "/api/webhooks/223704706495545344/3d89bb7572e0fb30d8128367b3b1b44fecd1726de135cbe28a";

export function startDiscord(): Promise<Receiver> {
  return startReceiver((request): Verdict => {
    if (!PATH.test(request.path))
      return { answer: { status: 404, body: { message: "404: Not Found", code: 0 } } };
    const problems = [...jsonProblems(request), ...payloadProblems(request.json)];
    if (problems.length > 0) {
      return { answer: { status: 400, body: { message: "Invalid Form Body", code: 50_035 } }, problems };
    }
    const waits = new URL(request.path, "http://discord").searchParams.get("wait") === "true";
    return { answer: waits ? { status: 200, body: { id: "1", type: 0 } } : { status: 204 } };
  });
}

function payloadProblems(json: Readonly<Record<string, unknown>>): string[] {
  const problems: string[] = [];
  const embeds = objectsOf(json["embeds"]);
  if (embeds.length === 0 && !isText(json["content"], { max: 2_000 }))
    problems.push("Cannot send an empty message");
  if (embeds.length > EMBEDS_MAX) problems.push("there are too many embeds");
  const { username, allowed_mentions: mentions } = json;
  if (username !== undefined && (!isText(username, { max: 80 }) || /discord|clyde/i.test(username))) {
    problems.push(`the username ${JSON.stringify(username)} is not allowed`);
  }
  if (JSON.stringify(mentions) !== '{"parse":[]}') problems.push("somebody could be mentioned");
  for (const embed of embeds) problems.push(...embedProblems(embed));
  return problems;
}

function embedProblems(embed: Readonly<Record<string, unknown>>): string[] {
  const problems: string[] = [];
  const { title, description, url, color } = embed;
  const fields = objectsOf(embed["fields"]);
  if (!isText(title, { max: 256 })) problems.push("the title is not 1 to 256 characters");
  if (!isText(description, { min: 0, max: 4_096 })) problems.push("the description is longer than 4096");
  if (!/^https?:/.test(said(url))) problems.push("the url is none");
  if (!Number.isInteger(color) || Number(color) < 0 || Number(color) > 0xffffff)
    problems.push("the color is none");
  if (fields.length > FIELDS_MAX) problems.push("there are more than 25 fields");
  for (const { name, value } of fields) {
    if (!isText(name, { max: 256 })) problems.push("a field's name is not 1 to 256 characters");
    if (!isText(value, { max: 1_024 }))
      problems.push(`the value of ${said(name)} is not 1 to 1024 characters`);
  }
  const texts = [title, description, ...fields.flatMap(({ name, value }) => [name, value])];
  const total = texts.map((text) => said(text ?? "").length).reduce((sum, length) => sum + length, 0);
  if (total > EMBED_TOTAL_MAX) problems.push(`the embed has ${total} characters, which is more than 6000`);
  return problems;
}

export const receiver: KindReceiver = {
  config: { url: `https://discordapp.com${DISCORD_PATH}` },
  origins: ["https://discord.com"],
  start: startDiscord,
  answers: [
    { status: 404, body: { message: "Unknown Webhook", code: 10_015 }, means: "gone" },
    { status: 400, body: { message: "Invalid Form Body" }, means: "retry" },
  ],
};
