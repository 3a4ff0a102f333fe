// Examples of what is only read, for the documents: answers as version 3 gives them in the standard dialect.
import type { Static } from "typebox";
import type { BadgeListSchema } from "./badge.ts";
import type { ChannelListSchema } from "./channel.ts";
import type { FlipJson } from "./flip.ts";
import type { PingJson } from "./ping.ts";

/** The check of the other examples. */
const CHECK = "https://overdue.example.org/api/v3/checks/31365bce-8da9-4729-8ff3-aaa71d56b712";

export const EXAMPLE_PINGS: { pings: PingJson[] } = {
  pings: [
    {
      type: "success",
      date: "2026-11-16T12:00:04.250000+00:00",
      n: 2,
      scheme: "https",
      remote_addr: "192.0.2.7",
      method: "POST",
      ua: "curl/8.14.1",
      rid: "2f9e4c5a-6d0b-4f43-9c61-8a7e5d1b3c20",
      body_url: `${CHECK}/pings/2/body`,
      duration: 4.25,
    },
    {
      type: "start",
      date: "2026-11-16T12:00:00.000000+00:00",
      n: 1,
      scheme: "https",
      remote_addr: "192.0.2.7",
      method: "GET",
      ua: "curl/8.14.1",
      rid: "2f9e4c5a-6d0b-4f43-9c61-8a7e5d1b3c20",
      body_url: null,
    },
  ],
};

export const EXAMPLE_BODY = "42 tables dumped, 0 errors\n";

export const EXAMPLE_FLIPS: FlipJson[] = [
  { timestamp: "2026-11-16T12:30:00+00:00", up: 1 },
  { timestamp: "2026-11-16T12:00:00+00:00", up: 0 },
];

export const EXAMPLE_CHANNELS: Static<typeof ChannelListSchema> = {
  channels: [
    { id: "1bdea468-03bf-47b8-ab27-29a9dd0e4b94", name: "On call", kind: "email" },
    { id: "51c6eb2b-2ae1-456b-99fe-6f1e0a36cd3c", name: "", kind: "sms" },
  ],
};

const BADGES = "https://overdue.example.org/badge/67541b37-8b9c-4d17-b952-690eae1d2f30";

export const EXAMPLE_BADGES: Static<typeof BadgeListSchema> = {
  badges: {
    backup: {
      svg: `${BADGES}/LOegDs5M-2/backup.svg`,
      svg3: `${BADGES}/LOegDs5M/backup.svg`,
      json: `${BADGES}/LOegDs5M-2/backup.json`,
      json3: `${BADGES}/LOegDs5M/backup.json`,
      shields: `${BADGES}/LOegDs5M-2/backup.shields`,
      shields3: `${BADGES}/LOegDs5M/backup.shields`,
    },
    "*": {
      svg: `${BADGES}/9X7kcZoe-2.svg`,
      svg3: `${BADGES}/9X7kcZoe.svg`,
      json: `${BADGES}/9X7kcZoe-2.json`,
      json3: `${BADGES}/9X7kcZoe.json`,
      shields: `${BADGES}/9X7kcZoe-2.shields`,
      shields3: `${BADGES}/9X7kcZoe.shields`,
    },
  },
};
