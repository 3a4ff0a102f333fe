// What a person reads when the trial is ready: where to go, what this database is, how it ends. Words only.

export type Welcome = {
  version: string;
  siteUrl: string;
  folder: string;
  isFirst: boolean;
  /** Null when the installation has somebody who runs it. */
  ownerLink: string | null;
};

/** The text for the terminal. */
export function renderWelcome({ version, siteUrl, folder, isFirst, ownerLink }: Welcome): string {
  const next =
    ownerLink === null
      ? [`  Open                ${siteUrl}/`]
      : ["  Open this to begin; it makes you the owner, and works once:", "", `  ${ownerLink}`];
  return `
Overdue ${version} is running.

${next.join("\n")}

  TRIAL DATABASE      ${isFirst ? "made" : "found"} in ${folder}
                      Good for looking around, not for jobs that matter: nothing backs it up, and it
                      carries old libraries. For real use: a PostgreSQL (15 to 18) of yours in
                      OVERDUE_DATABASE_URL, and \`overdue serve\`.
  Settings            OVERDUE_… in the environment, or in a file .env in this folder.
  Locked out          \`overdue admin login-link\` in this folder, while this runs.
  Stop                Ctrl-C. The data stays; the next start finds it.

`;
}
