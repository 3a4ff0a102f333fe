// All kinds of channels there are, one line for each. What a kind is says channel-kind.ts.
import type { AnyKind } from "./channel-kind.ts";
import { discord } from "./kinds/discord.ts";
import { email } from "./kinds/email.ts";
import { group } from "./kinds/group.ts";
import { ntfy } from "./kinds/ntfy.ts";
import { pd } from "./kinds/pd.ts";
import { slack } from "./kinds/slack.ts";
import { telegram } from "./kinds/telegram.ts";
import { webhook } from "./kinds/webhook.ts";

/** In the order in which the docs list them. */
export const KINDS: readonly AnyKind[] = [email, webhook, slack, discord, telegram, ntfy, pd, group];

/** The kind that the API calls so, or null. */
export function kindNamed(name: string, kinds: readonly AnyKind[] = KINDS): AnyKind | null {
  return kinds.find((kind) => kind.name === name) ?? null;
}
