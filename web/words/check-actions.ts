// What is said about things done with checks: names of the buttons, and the sentence when it is done.
import { plural } from "./number.ts";

const bin = "Kept for 7 days, with all history.";

export const actionWords = {
  many: (count: number) => plural(count, "check"),
  pause: "Pause",
  resume: "Resume",
  edit: "Edit",
  open: "Open",
  copyUrl: "Copy ping address",
  delete: "Delete",
  addTag: "Add tags",
  removeTag: "Take off a tag",
  channels: "Channels",
  addChannel: "Tell",
  removeChannel: "Stop telling",
  move: "Move to",
  select: "Select",
  tags: "Tags",
  newTag: "New tags",
  add: "Add",
  clear: "Clear the selection",
  selected: (count: number) => `${count.toLocaleString("en-GB")} selected`,
  paused: (what: string) => `Paused ${what}. Nothing is awaited and nobody is told.`,
  resumed: (what: string) => `Resumed ${what}.`,
  deleted: (what: string) => `Deleted ${what}. ${bin}`,
  restored: (what: string) => `${what} is back, with its history.`,
  tagged: (what: string, tag: string) => `Tagged ${what} with ${tag}.`,
  untagged: (what: string, tag: string) => `Took ${tag} off ${what}.`,
  connected: (what: string, name: string) => `${name} is told about ${what}.`,
  disconnected: (what: string, name: string) => `${name} is not told about ${what} any more.`,
  moved: (what: string, project: string) => `Moved ${what} to ${project}.`,
  refused: (count: number, why: string) =>
    count === 1 ? why : `${plural(count, "check")} could not be changed. ${why}`,
  asCode: "Copy as code",
  codeCopied: "Copied for curl. It needs an API key of the project (Settings).",
  urlCopied: "Copied the ping address.",
  copyRefused: (url: string) => `The browser does not let this page copy. Select it here: ${url}`,
  deletedList: {
    open: "Deleted checks",
    title: "Deleted checks",
    about: "Kept for 7 days with their history. Their ping addresses answer again as soon as they are back.",
    none: "Nothing was deleted in the last 7 days.",
    back: "Take back",
    gone: (until: string) => `gone for good ${until}`,
  },
} as const;
