// What the page of events says. What an event itself is called stands in the contract, because files say it too.
import { EVENTS_IN_FILE_MAX } from "../../src/contract/web/event-sentence.ts";
import { formatCount } from "../../src/contract/web/list-words.ts";

export const eventsWords = {
  tab: "Events",
  title: (count: number) => (count === 0 ? "Nothing has happened yet" : "What happened"),
  titleChosen: "What happened",
  filter: "Show",
  filters: { all: "everything", flip: "up and down", event: "changes and gaps" },
  search: "Search by check or text",
  searchLabel: "Search events",
  older: "Older events",
  further: "Look further back",
  noOlder: "That is everything that is kept.",
  noOlderChosen: "That is everything of this choice.",
  nothing: {
    title: "This fills by itself",
    text: "Checks that go down or come up, pauses, edits and times we could not observe are listed here, as soon as there is a check that has had a signal.",
    act: "To the checks",
  },
  noMatch: { title: "Nothing matches", text: "Try other words or another time, or show everything." },
  noMatchYet: { title: "Nothing found yet", text: "Older events have not been looked through." },
  columns: { when: "When", check: "Check", what: "What", by: "By" },
  from: "From",
  to: "Until",
  clock: (zone: string) => `by the clock of ${zone}`,
  anyTime: "Any time",
  times: "times",
  zone: "Times in",
  zones: { mine: (zone: string) => `my zone (${zone})`, utc: "UTC", check: "the zone of each check" },
  download: "Download",
  downloads: { csv: "CSV", json: "JSON" },
  downloadAs: (format: string) => `Download as ${format}`,
  downloadTitle: `What is chosen here, found among the newest ${formatCount(EVENTS_IN_FILE_MAX)} events of that kind and time. Times in files are in UTC.`,
  unnamed: "unnamed",
} as const;
