// `overdue admin login-link`, `reset-2fa` and `invite`: for whoever is locked out, and for installations that send no
// mail. What they print lets somebody in, so it is printed to whoever runs the command and nowhere else.
import type { Command } from "commander";
import { INVITATION_DAYS, TOKEN_MS } from "../core/accounts/token-rules.ts";
import { MINUTE_MS } from "../core/instant.ts";
import { invite } from "../operations/accounts/members.ts";
import { removeAuthenticator } from "../operations/accounts/sign-in/authenticator.ts";
import { giveLoginLink } from "../operations/accounts/sign-in/by-address.ts";
import { signingWith } from "../operations/alerts/mail/signing.ts";
import { secretKeyOf } from "../operations/api-key.ts";
import { readDatabaseClock } from "../store/instance.ts";
import { onDatabase, ownerOf } from "./admin-session.ts";
import { type CommandContext, printJson } from "./command-context.ts";

/** Adds the commands to `overdue admin`. */
export function registerPeople(admin: Command, context: CommandContext): void {
  registerLoginLink(admin, context);
  registerReset(admin, context);
  registerInvite(admin, context);
}

function registerLoginLink(admin: Command, context: CommandContext): void {
  admin
    .command("login-link")
    .description("Print a one-time sign-in link; two-factor authentication still applies")
    .option("--account <address>", "Account email; optional if there is only one account")
    .option("--json", "Output JSON (account, link, minutes)")
    .action((options: { account?: string; json?: true }) =>
      onDatabase(context, async ({ database, config }) => {
        const { email } = await ownerOf(database, options.account);
        const { token } = await giveLoginLink(database, { email, now: await readDatabaseClock(database) });
        const link = `${config.siteUrl}/accounts/link/${token}/`;
        const minutes = TOKEN_MS.signIn / MINUTE_MS;
        if (options.json) return printJson(context, { account: email, link, minutes });
        context.out(`One-time sign-in link for ${email}, valid for ${minutes} minutes:\n${link}\n`);
      }),
    );
}

function registerReset(admin: Command, context: CommandContext): void {
  admin
    .command("reset-2fa")
    .description("Remove an account's authenticator app and recovery codes")
    .option("--account <address>", "Account email; optional if there is only one account")
    .option("--json", "Output JSON (account, removed)")
    .action((options: { account?: string; json?: true }) =>
      onDatabase(context, async ({ database }) => {
        const { id, email } = await ownerOf(database, options.account);
        const now = await readDatabaseClock(database);
        const person = { accountId: id, email };
        const removed = await removeAuthenticator(database, { person, actorId: null, now });
        if (options.json) return printJson(context, { account: email, removed });
        context.out(
          removed
            ? `Two-factor authentication is off for ${email}.\n`
            : `${email} has no authenticator app.\n`,
        );
      }),
    );
}

function registerInvite(admin: Command, context: CommandContext): void {
  admin
    .command("invite")
    .description("Print an invitation link for a new account")
    .requiredOption("--email <address>", "Email address of the new account")
    .option("--json", "Output JSON (email, link, days)")
    .action((options: { email: string; json?: true }) =>
      onDatabase(context, async ({ database, config }) => {
        const signing = signingWith(await secretKeyOf(database, config.secretKey));
        const now = await readDatabaseClock(database);
        const of = { project: null, role: null, inviterId: null, byMail: false };
        const { token } = await invite(database, { ...of, email: options.email, signing, now });
        const link = `${config.siteUrl}/accounts/invitation/${token}/`;
        if (options.json) return printJson(context, { email: options.email, link, days: INVITATION_DAYS });
        context.out(`Invitation link for ${options.email}, valid for ${INVITATION_DAYS} days:\n${link}\n`);
      }),
    );
}
