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
      : ["  Open this one-time link to create the admin account:", "", `  ${ownerLink}`];
  return `
Overdue ${version} is running.

${next.join("\n")}

  TRIAL DATABASE      ${isFirst ? "created" : "found"} in ${folder}
                      For evaluation only: it is not backed up, and it includes outdated libraries.
                      For production, set OVERDUE_DATABASE_URL to your own PostgreSQL server
                      (15 to 18) and run \`overdue serve\`.
  Settings            OVERDUE_* environment variables, or a .env file in this folder.
  Locked out          Run \`overdue admin login-link\` in this folder while the trial is running.
  Stop                Press Ctrl-C. The data is kept for the next start.

`;
}
