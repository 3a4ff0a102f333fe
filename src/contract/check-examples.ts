// A check as an example: what version 3 answers to a read-write key. A test keeps it true to the schemas.
import type { Check } from "./check-schemas.ts";

const UUID = "31365bce-8da9-4729-8ff3-aaa71d56b712";
const API = `https://overdue.example.org/api/v3/checks/${UUID}`;

export const EXAMPLE_CHECK: Check = {
  name: "Nightly backup",
  slug: "nightly-backup",
  tags: "prod backup",
  desc: "Dumps the database and copies it away.",
  grace: 3600,
  n_pings: 112,
  status: "up",
  started: false,
  last_ping: "2026-03-01T02:31:07+00:00",
  next_ping: "2026-03-02T02:30:00+00:00",
  manual_resume: false,
  methods: "",
  start_kw: "",
  success_kw: "",
  failure_kw: "",
  filter_subject: false,
  filter_body: false,
  badge_url: "https://overdue.example.org/b/2/803f680d-e89b-492b-82ef-2be7b774a92d.svg",
  uuid: UUID,
  ping_url: `https://overdue.example.org/ping/${UUID}`,
  update_url: API,
  pause_url: `${API}/pause`,
  resume_url: `${API}/resume`,
  channels: "1bdea468-03bf-47b8-ab27-29a9dd0e4b94,51c6eb2b-2ae1-456b-99fe-6f1e0a36cd3c",
  schedule: "30 2 * * *",
  tz: "UTC",
};

/** What the changes answer, which have the deprecated fields too. */
const CHANGED: Check = { ...EXAMPLE_CHECK, subject: "", subject_fail: "" };
const UNHEARD = { started: false, last_ping: null, next_ping: null } as const;

/** The check as each endpoint answers it; a create that makes one is the last. */
export const EXAMPLE_ANSWERS = {
  getCheck: EXAMPLE_CHECK,
  createCheck: CHANGED,
  updateCheck: CHANGED,
  pauseCheck: { ...CHANGED, status: "paused", next_ping: null },
  resumeCheck: { ...CHANGED, ...UNHEARD, status: "new" },
  deleteCheck: CHANGED,
  created: { ...CHANGED, ...UNHEARD, status: "new", n_pings: 0 },
} as const satisfies Record<string, Check>;
