// Names of commands before 0.2. They still work, and are not in the help; the next major version removes them.

/** By the words that a command line begins with. Former options are hidden options of their command. */
export const OLD_NAMES: Readonly<Record<string, string>> = {
  "admin create-account": "admin account create",
  "admin list": "admin account list",
  "admin invite": "admin account invite",
  "admin login-link": "admin account login-link",
  "admin reset-2fa": "admin account reset-2fa",
  "admin set-check-limit": "admin account set-limit",
  "admin set-preferences": "admin account set-preferences",
  "admin create-project": "admin project create",
  "admin create-keys": "admin key create",
  "admin channel add": "admin channel create",
  // It never asked.
  "admin channel remove": "admin channel delete --yes",
  "admin channel log": "admin channel deliveries",
  "admin confirm-restore": "admin restore confirm",
};

/** The arguments with the current name of the command. */
export function withCurrentName(args: readonly string[]): readonly string[] {
  const isHelp = args[0] === "help";
  const given = isHelp ? args.slice(1) : args;
  for (const [old, now] of Object.entries(OLD_NAMES)) {
    const words = old.split(" ");
    if (words.every((word, at) => given[at] === word)) {
      return [...(isHelp ? ["help"] : []), ...now.split(" "), ...given.slice(words.length)];
    }
  }
  return args;
}
