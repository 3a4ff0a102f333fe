// Whom and what the channel commands are about: UUIDs on the command line, and what they name.
import { InvalidArgumentError } from "commander";
import { isUuid } from "../../core/identity.ts";
import { findProjectByUuid } from "../../store/accounts/projects.ts";
import { findChannelByUuid } from "../../store/alerts/channels.ts";
import type { Database } from "../../store/db.ts";
import { CommandError } from "../command-context.ts";

/** Whoever has the command line is neither a person nor a key. */
export const COMMAND_LINE = { accountId: null, keyId: null };

/** A UUID, in either letter case. */
export function parseUuid(given: string): string {
  const uuid = given.toLowerCase();
  if (isUuid(uuid)) return uuid;
  throw new InvalidArgumentError("Expected a UUID.");
}

/** The channel with this UUID, in whatever project. */
export async function channelOf(
  database: Database,
  uuid: string,
): Promise<{ projectId: number; uuid: string; name: string; kind: string }> {
  const channel = await findChannelByUuid(database, uuid);
  if (channel !== null) return channel;
  throw new CommandError(
    `No channel with UUID ${uuid}. Run \`overdue admin channel list\` to see the channels of a project.`,
  );
}

/** The id of a project. */
export async function projectIdOf(database: Database, uuid: string): Promise<number> {
  const project = await findProjectByUuid(database, uuid);
  if (project !== null) return project.id;
  throw new CommandError(`No project with UUID ${uuid}. Run \`overdue admin list\` to see them.`);
}
