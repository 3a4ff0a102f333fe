// `overdue login` and `overdue logout`: save and delete profiles. A key is never an argument, and never printed.
import type { Command } from "commander";
import { resolve } from "node:path";
import { loadConfig } from "../config/config.ts";
import { KEY_SOURCE_LENGTH_MAX } from "../core/limits.ts";
import { connected, parseUrl } from "./api-connection.ts";
import { type CommandContext, CommandError, EXIT, printJson, renderColumns } from "./command-context.ts";
import { parseProfileName, profilesPath, readProfiles, resolveKey, writeProfiles } from "./profiles.ts";
import { keyName } from "./whoami.ts";

const FIRST_NAME = "default";

const LOGIN_HELP = `
Reads an API key from the terminal, without showing it, or from standard input. The key is checked with the server and saved in profiles.json in ~/.config/overdue, or in $XDG_CONFIG_HOME/overdue. Only you can read that file. The key is sent to this server only.

Instead of a key, the profile can contain "file:" and the path of a file with the key, or "command:" and a shell command that prints it, such as that of a password manager. It is read each time.

The first profile is the default. Choose another one with --profile or OVERDUE_PROFILE.

Examples:
  $ overdue login --url https://overdue.example.org
  $ overdue login --profile staging < key.txt
  $ overdue login --profile ci --key-from file:/run/secrets/overdue-key
  $ overdue login --profile vault --key-from "command:pass show overdue"
  $ overdue login --list
  $ overdue login --use staging`;

const LOGOUT_HELP = `
Deletes the profile from this machine. The API key stays valid: to revoke it, use the project settings in the dashboard.

Examples:
  $ overdue logout
  $ overdue logout --profile staging`;

type LoginOptions = {
  url?: string;
  profile?: string;
  keyFrom?: string;
  default?: true;
  list?: true;
  use?: string;
  json?: true;
};

/** Adds the options and the action of `overdue login`. */
export function defineLogin(command: Command, context: CommandContext): void {
  command
    .option("--url <url>", "URL of the server (default: OVERDUE_SITE_URL)")
    .option("--profile <name>", `Name of the profile (default: OVERDUE_PROFILE or "${FIRST_NAME}")`)
    .option("--key-from <source>", "Where the key is read: file:PATH or command:COMMAND")
    .option("--default", "Make it the default profile")
    .option("--list", "List the profiles instead")
    .option("--use <name>", "Make an existing profile the default instead")
    .option("--json", "Output JSON (profile, url, kind, project, default)")
    .addHelpText("after", LOGIN_HELP)
    .action(async (options: LoginOptions) => {
      if (options.list) return listProfiles(context, options);
      return options.use === undefined ? login(context, options) : useProfile(context, options.use, options);
    });
}

async function login(context: CommandContext, options: LoginOptions): Promise<void> {
  const { environment } = context;
  const { config, effective } = loadConfig(environment);
  const path = profilesPath(environment);
  const saved = readProfiles(path);
  const name = parseProfileName(options.profile ?? config.profile ?? FIRST_NAME);
  const isConfigured = effective.some((one) => one.name === "siteUrl" && one.source.kind !== "default");
  const siteUrl =
    options.url === undefined
      ? await chooseUrl(context, saved.profiles[name]?.url ?? config.siteUrl, { isAsked: !isConfigured })
      : parseUrl(options.url);
  const key = await readKeyOrSource(context, options);
  const apiKey = await resolveKey(key);
  const { kind, project } = await connected({ siteUrl, apiKey, profile: null }, async ({ whoAmI }) => whoAmI);
  const isDefault = options.default === true || saved.default === null || saved.default === name;
  writeProfiles(path, {
    default: isDefault ? name : saved.default,
    profiles: { ...saved.profiles, [name]: { url: siteUrl, key } },
  });
  if (isReadableOnTheWay(siteUrl)) {
    context.err(
      "overdue: This URL has no TLS, so others on the network can read the key. Use https:// if you can.\n",
    );
  }
  if (options.json) {
    return printJson(context, {
      profile: name,
      url: siteUrl,
      kind: keyName(kind),
      project,
      default: isDefault,
    });
  }
  const also = isDefault ? ", the default" : "";
  context.out(
    `Saved profile "${name}"${also}: ${keyName(kind)} key of ${project?.name ?? ""} at ${siteUrl}.\n`,
  );
}

async function chooseUrl(
  context: CommandContext,
  fallback: string,
  { isAsked }: { isAsked: boolean },
): Promise<string> {
  const typed = isAsked ? await context.ask(`Server URL [${fallback}]: `, { isHidden: false }) : null;
  return typed === null || typed.trim() === "" ? fallback : parseUrl(typed.trim());
}

/** The key, or where to find it. */
async function readKeyOrSource(context: CommandContext, { keyFrom }: LoginOptions): Promise<string> {
  if (keyFrom !== undefined && !/^(?:file|command):./.test(keyFrom)) {
    throw new CommandError(
      "--key-from must begin with file: or command:. To enter the key itself, leave it out.",
      EXIT.usage,
    );
  }
  const typed = keyFrom ?? (await context.ask("API key (not shown): ", { isHidden: true }));
  const key = (typed ?? (await context.readInput(KEY_SOURCE_LENGTH_MAX))).trim();
  if (key === "") throw new CommandError("No API key was entered. Nothing was changed.", EXIT.usage);
  return key.startsWith("file:") ? `file:${resolve(key.slice("file:".length))}` : key;
}

function isReadableOnTheWay(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !/^(?:localhost|127\..*|\[::1\])$/.test(hostname);
}

function listProfiles(context: CommandContext, { json }: LoginOptions): void {
  const { default: chosen, profiles } = readProfiles(profilesPath(context.environment));
  const listed = Object.entries(profiles).map(([name, { url }]) => ({ name, url, default: name === chosen }));
  if (json) return printJson(context, { profiles: listed });
  if (listed.length === 0) return context.err("No profiles.\n");
  const rows = listed.map((one) => [one.name, one.url, one.default ? "default" : ""]);
  context.out(renderColumns([["PROFILE", "URL", ""], ...rows]));
}

function useProfile(context: CommandContext, name: string, { json }: LoginOptions): void {
  const path = profilesPath(context.environment);
  const { profiles } = readProfiles(path);
  requireProfile(profiles, { name, path });
  writeProfiles(path, { default: name, profiles });
  if (json) return printJson(context, { profile: name, url: profiles[name]?.url, default: true });
  context.out(`"${name}" is the default profile now.\n`);
}

function requireProfile(profiles: object, { name, path }: { name: string; path: string }): void {
  if (Object.keys(profiles).includes(name)) return;
  throw new CommandError(
    `No profile "${name}" in ${path}. Run \`overdue login --list\` to see them.`,
    EXIT.usage,
  );
}

/** Adds the options and the action of `overdue logout`. */
export function defineLogout(command: Command, context: CommandContext): void {
  command
    .option("--profile <name>", "Profile to delete (default: OVERDUE_PROFILE or the default)")
    .option("--json", "Output JSON (profile)")
    .addHelpText("after", LOGOUT_HELP)
    .action((options: { profile?: string; json?: true }) => {
      const path = profilesPath(context.environment);
      const saved = readProfiles(path);
      const name = options.profile ?? loadConfig(context.environment).config.profile ?? saved.default;
      if (name === null) throw new CommandError("There is no default profile. Choose one with --profile.");
      requireProfile(saved.profiles, { name, path });
      const left = Object.entries(saved.profiles).filter(([one]) => one !== name);
      const next =
        saved.default === name ? (left.length === 1 ? (left[0]?.[0] ?? null) : null) : saved.default;
      writeProfiles(path, { default: next, profiles: Object.fromEntries(left) });
      if (options.json) return printJson(context, { profile: name });
      context.out(`Deleted profile "${name}". The API key stays valid until it is revoked.\n`);
    });
}
