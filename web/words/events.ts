// Texts of the events page. The event descriptions are in the contract because downloads use them too.
import { EVENTS_IN_FILE_MAX } from "../../src/contract/web/event-sentence.ts";
import { formatCount } from "../../src/contract/web/list-words.ts";

export const eventsWords = {
  tab: "Events",
  title: (count: number) => (count === 0 ? "No events yet" : "Events"),
  titleChosen: "Events",
  filter: "Show",
  filters: { all: "all events", flip: "up and down", event: "edits, pauses and gaps" },
  search: "Search by check or text",
  searchLabel: "Search events",
  older: "Older events",
  further: "Search further back",
  noOlder: "No older events.",
  noOlderChosen: "No older matching events.",
  nothing: {
    title: "Events appear here automatically",
    text: "When checks go down or up, are paused or edited, or when there is a monitoring gap, you'll see it here.",
    act: "View checks",
  },
  noMatch: { title: "No matching events", text: "Try another search or time range, or show all events." },
  noMatchYet: { title: "No matches yet", text: "Older events haven't been searched." },
  columns: { when: "When", check: "Check", what: "Event", by: "By" },
  from: "From",
  to: "Until",
  clock: (zone: string) => `time zone: ${zone}`,
  anyTime: "Any time",
  times: "times",
  zone: "Time zone",
  zones: { mine: (zone: string) => `my time zone (${zone})`, utc: "UTC", check: "time zone of each check" },
  download: "Download",
  downloads: { csv: "CSV", json: "JSON" },
  downloadAs: (format: string) => `Download as ${format}`,
  downloadTitle: `Downloads the matching events among the latest ${formatCount(EVENTS_IN_FILE_MAX)} of the selected type and time range. Times are in UTC.`,
  unnamed: "unnamed",
} as const;
