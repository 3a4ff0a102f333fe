// What is said about sending signals: the panel of snippets, and copy as code.
export const signalWords = {
  title: "Send a signal",
  languages: "Where the job runs",
  more: "more",
  variants: {
    success: "on success",
    whole: "start and end",
    rid: "with run id",
  },
  variant: "Which signals",
  by: "Address",
  byUuid: "by UUID",
  bySlug: "by name (slug)",
  url: "Address for signals",
  mail: "Address for mails",
  paths: "Add /start, /fail, /log or an exit code such as /3 to the address.",
} as const;

export const codeWords = {
  title: "Copy as code",
  about: "The same by the API. Put a key of the project in place of $API_KEY.",
  read: "Read it",
  settings: "Settings as they are",
  create: "Make one like it",
  history: "Its history",
  deeds: "Pause and resume",
  change: "This change",
} as const;
