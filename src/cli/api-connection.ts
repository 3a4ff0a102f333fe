// How commands such as `overdue silence` use the API of a running server, on this machine or another one.
import type { Command } from "commander";
import { readFile } from "node:fs/promises";
import { ApiClient, ApiResponseError } from "../client/api-client.ts";
import { type Config, type LoadedConfig, loadConfig } from "../config/config.ts";
import type { WhoAmI } from "../contract/api/account.ts";
import { DOCS } from "../contract/api/docs.ts";
import { webAddressKind } from "../lib/setting-value.ts";
import { type CommandContext, CommandError, EXIT } from "./command-context.ts";
import { parseProfileName, type Profile, profilesPath, readProfiles, resolveKey } from "./profiles.ts";

export type ConnectionOptions = { url?: string; keyFile?: string; profile?: string };

/** A server, and the API key for it. */
export type Credentials = {
  siteUrl: string;
  apiKey: string;
  /** The profile that they come from; null: none. */
  profile: string | null;
};

export type ApiConnection = Credentials & {
  client: ApiClient;
  /** The UUID of the project that the API key belongs to. */
  project: string;
  whoAmI: WhoAmI;
};

export const CONNECTION_HELP = `
The API key and the server come from the profile that \`overdue login\` has saved. If OVERDUE_API_KEY or OVERDUE_API_KEY_FILE is set, or --key-file is given, that key is used instead, with the server in OVERDUE_SITE_URL or --url (default: http://localhost:8000).`;

const KEY_HINT =
  "Run `overdue login`, set OVERDUE_API_KEY to an API key of the project, or give a file that contains one with --key-file.";

/** Adds the options that say which server and which key to use. */
export function addConnectionOptions(command: Command): Command {
  return command
    .option("--profile <name>", "Profile to use (default: OVERDUE_PROFILE)")
    .option("--url <url>", "URL of the server (default: OVERDUE_SITE_URL)")
    .option("--key-file <path>", "File with an API key of the project");
}

/** Runs `work` with a client of the API. Throws CommandError for errors of the network and of the server. */
export async function onApi<T>(
  context: CommandContext,
  options: ConnectionOptions,
  work: (connection: ApiConnection) => Promise<T>,
): Promise<T> {
  return connected(await findCredentials(context, options), work);
}

/** Verifies the credentials and runs `work`. */
export async function connected<T>(
  credentials: Credentials,
  work: (connection: ApiConnection) => Promise<T>,
): Promise<T> {
  const { siteUrl, apiKey } = credentials;
  const client = new ApiClient({ siteUrl, apiKey, fetch: fetchHere });
  try {
    const whoAmI = await client.call("whoAmI", {});
    if (whoAmI.project === null) throw new CommandError("The project of the API key no longer exists.");
    return await work({ ...credentials, client, project: whoAmI.project.id, whoAmI });
  } catch (error) {
    throw explained(error, credentials);
  }
}

/** Without redirects: they would send the key to another address. */
export const fetchHere: typeof globalThis.fetch = (input, init) =>
  globalThis.fetch(input, { ...init, redirect: "manual" });

async function findCredentials(context: CommandContext, options: ConnectionOptions): Promise<Credentials> {
  const loaded = loadConfig(context.environment);
  const { config } = loaded;
  const siteUrl = options.url === undefined ? config.siteUrl : parseUrl(options.url);
  const apiKey = options.keyFile === undefined ? config.apiKey : await readKey(options.keyFile);
  if (apiKey !== null) {
    if (options.profile === undefined) return { siteUrl, apiKey, profile: null };
    const which = options.keyFile === undefined ? "OVERDUE_API_KEY is set" : "--key-file is given";
    throw new CommandError(`${which}, so --profile is not available. Use one of them.`, EXIT.usage);
  }
  const { name, profile } = findProfile(context, { config, options });
  refuseOtherUrl({ name, profile }, { loaded, options });
  return { siteUrl: profile.url, apiKey: await resolveKey(profile.key), profile: name };
}

function findProfile(
  { environment }: CommandContext,
  { config, options }: { config: Config; options: ConnectionOptions },
): { name: string; profile: Profile } {
  const path = profilesPath(environment);
  const saved = readProfiles(path);
  const name = options.profile ?? config.profile ?? saved.default;
  if (name === null) throw new CommandError(`No API key. ${KEY_HINT}`, EXIT.usage);
  const profile = Object.entries(saved.profiles).find(([one]) => one === parseProfileName(name))?.[1];
  if (profile !== undefined) return { name, profile };
  throw new CommandError(
    `No profile "${name}" in ${path}. Create it with \`overdue login --profile ${name}\`.`,
    EXIT.usage,
  );
}

/** A key goes only to the address that it was saved with. */
function refuseOtherUrl(
  { name, profile }: { name: string; profile: Profile },
  { loaded: { config, effective }, options }: { loaded: LoadedConfig; options: ConnectionOptions },
): void {
  const isConfigured = effective.some(
    ({ key, source }) => key === "OVERDUE_SITE_URL" && source.kind !== "default",
  );
  const given =
    options.url === undefined
      ? // A profile that is named on the command line comes before the environment.
        isConfigured && options.profile === undefined && { from: "OVERDUE_SITE_URL", url: config.siteUrl }
      : { from: "--url", url: parseUrl(options.url) };
  if (given === false || given.url === profile.url) return;
  throw new CommandError(
    `The API key of the profile "${name}" is for ${profile.url}, but ${given.from} is ${given.url}. ` +
      `Remove ${given.from}, or choose another profile with --profile.`,
    EXIT.usage,
  );
}

export function parseUrl(text: string): string {
  const parsed = webAddressKind.parse(text);
  if ("problem" in parsed) throw new CommandError(`--url ${parsed.problem}.`, EXIT.usage);
  return parsed.value;
}

async function readKey(path: string): Promise<string> {
  const key = (await readFile(path, "utf8")).trim();
  if (key === "") throw new CommandError(`${path} is empty. ${KEY_HINT}`, EXIT.usage);
  return key;
}

function explained(error: unknown, { siteUrl, profile }: Credentials): unknown {
  if (error instanceof ApiResponseError) {
    if (error.problem === null) {
      return new CommandError(
        `${siteUrl} responded with status ${error.status}, but not as Overdue does. Correct the URL.`,
      );
    }
    const hint = profile === null ? KEY_HINT : `Run \`overdue login --profile ${profile}\` with a new key.`;
    const help = `To learn about API keys, see ${siteUrl}${DOCS.apiKeys}`;
    return new CommandError(error.status === 401 ? `${error.message} ${hint} ${help}` : error.message);
  }
  if (error instanceof Error && error.name === "TimeoutError") {
    return new CommandError(`${siteUrl} did not respond in time. Try again.`);
  }
  // The error of fetch itself says nothing; its cause does.
  if (error instanceof TypeError && error.cause instanceof Error) {
    const fix = profile === null ? "Set OVERDUE_SITE_URL or --url." : "Is the server running?";
    return new CommandError(`Cannot connect to ${siteUrl}: ${reasonOf(error.cause)}. ${fix}`);
  }
  return error;
}

/** Several addresses of a host fail with an error without a message. */
function reasonOf(cause: Error): string {
  if (cause.message !== "") return cause.message;
  return "code" in cause ? String(cause.code) : cause.name;
}
