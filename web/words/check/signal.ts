// Texts about sending pings: the snippets, and copy as code.
export const signalWords = {
  title: "Send a ping",
  languages: "Language or platform",
  more: "more",
  variants: {
    success: "on success",
    whole: "start and end",
    rid: "with run ID",
  },
  variant: "Pings to send",
  by: "URL format",
  byUuid: "UUID",
  bySlug: "slug",
  url: "Ping URL",
  mail: "Ping email address",
  paths: "Append /start, /fail, /log or an exit code such as /3 to the URL.",
} as const;

export const codeWords = {
  title: "Copy as code",
  about: "Do the same with the API. Replace $API_KEY with a project API key.",
  read: "Get the check",
  settings: "Update the settings",
  create: "Create a copy",
  history: "Get the history",
  deeds: "Pause and resume",
  change: "Apply this change",
} as const;
