// How commands such as `overdue silence` use the API of a running server, on this machine or another one.
import type { Command } from "commander";
import { readFile } from "node:fs/promises";
import { ApiClient, ApiResponseError } from "../client/api-client.ts";
import { loadConfig } from "../config/config.ts";
import { webAddressKind } from "../lib/setting-value.ts";
import { type CommandContext, CommandError, EXIT } from "./command-context.ts";

export type ConnectionOptions = { url?: string; keyFile?: string };

export type ApiConnection = {
  client: ApiClient;
  /** The UUID of the project that the API key belongs to. */
  project: string;
};

export const CONNECTION_HELP = `
The API key of the project is read from OVERDUE_API_KEY, or from the file in OVERDUE_API_KEY_FILE or --key-file.
The server is OVERDUE_SITE_URL, by default http://localhost:8000.`;

const KEY_HINT =
  "Set OVERDUE_API_KEY to an API key of the project, or give a file that contains one with --key-file.";

/** Adds the options that say which server and which key to use. */
export function addConnectionOptions(command: Command): Command {
  return command
    .option("--url <url>", "URL of the server (default: OVERDUE_SITE_URL)")
    .option("--key-file <path>", "File with an API key of the project (default: OVERDUE_API_KEY)");
}

/** Runs `work` with a client of the API. Throws CommandError for errors of the network and of the server. */
export async function onApi<T>(
  context: CommandContext,
  options: ConnectionOptions,
  work: (connection: ApiConnection) => Promise<T>,
): Promise<T> {
  const { config } = loadConfig(context.environment);
  const siteUrl = options.url === undefined ? config.siteUrl : parseUrl(options.url);
  const apiKey = options.keyFile === undefined ? config.apiKey : await readKey(options.keyFile);
  if (apiKey === null) throw new CommandError(`No API key. ${KEY_HINT}`, EXIT.usage);
  const client = new ApiClient({ siteUrl, apiKey });
  try {
    // With an API key, the list contains its project only.
    const { projects } = await client.call("listProjects", {});
    const [project] = projects;
    if (project === undefined) throw new CommandError("The project of the API key no longer exists.");
    return await work({ client, project: project.id });
  } catch (error) {
    throw explained(error, siteUrl);
  }
}

function parseUrl(text: string): string {
  const parsed = webAddressKind.parse(text);
  if ("problem" in parsed) throw new CommandError(`--url ${parsed.problem}.`, EXIT.usage);
  return parsed.value;
}

async function readKey(path: string): Promise<string> {
  const key = (await readFile(path, "utf8")).trim();
  if (key === "") throw new CommandError(`${path} is empty. ${KEY_HINT}`, EXIT.usage);
  return key;
}

function explained(error: unknown, siteUrl: string): unknown {
  if (error instanceof ApiResponseError) {
    if (error.problem === null) {
      return new CommandError(
        `${siteUrl} responded with status ${error.status}, but not as Overdue does. Correct the URL.`,
      );
    }
    return new CommandError(error.status === 401 ? `${error.message} ${KEY_HINT}` : error.message);
  }
  if (error instanceof Error && error.name === "TimeoutError") {
    return new CommandError(`${siteUrl} did not respond in time. Try again.`);
  }
  // The error of fetch itself says nothing; its cause does.
  if (error instanceof TypeError && error.cause instanceof Error) {
    return new CommandError(
      `Cannot connect to ${siteUrl}: ${reasonOf(error.cause)}. Set OVERDUE_SITE_URL or --url.`,
    );
  }
  return error;
}

/** Several addresses of a host fail with an error without a message. */
function reasonOf(cause: Error): string {
  if (cause.message !== "") return cause.message;
  return "code" in cause ? String(cause.code) : cause.name;
}
