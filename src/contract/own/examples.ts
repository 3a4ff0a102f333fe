// Examples of what our own API answers, for its document. They are of one project at one moment, so that they fit
// together.
import type { ChannelJson } from "./channel.ts";
import type { DeliveryJson } from "./delivery.ts";

const CHANNEL_ID = "5c2bbd30-6b2e-4a0f-9d3b-0f6f2f3c8a11";
const CHECK_ID = "f618072a-7bde-4eee-af63-71a77c5723bc";

export const EXAMPLE_CHANNEL: ChannelJson = {
  id: CHANNEL_ID,
  kind: "ntfy",
  name: "Phones",
  config: {
    topic: "********",
    url: "https://ntfy.sh",
    token: "",
    priority: 5,
    priority_up: 3,
    priority_notice: 2,
  },
  enabled: true,
  disabled_at: null,
  disabled_reason: null,
  verified: null,
  check_count: 2,
  created_at: "2026-11-15T08:00:00.000000+00:00",
  last_notified_at: "2026-11-15T09:30:01.250000+00:00",
  last_duration_ms: 180,
  last_error: null,
  failure_count: 0,
  warnings: [],
  revision: 1,
};

export const EXAMPLE_NEW_CHANNEL: ChannelJson = {
  ...EXAMPLE_CHANNEL,
  last_notified_at: null,
  last_duration_ms: null,
};

export const EXAMPLE_DELIVERY: DeliveryJson = {
  id: "4711",
  channel: CHANNEL_ID,
  group: null,
  kind: "flip",
  check: CHECK_ID,
  check_name: "Nightly backup",
  state: "sent",
  attempts: 1,
  created_at: "2026-11-15T09:30:00.900000+00:00",
  attempted_at: "2026-11-15T09:30:01.250000+00:00",
  next_try_at: null,
  settled_at: "2026-11-15T09:30:01.430000+00:00",
  request: "POST ntfy.sh",
  response_code: 200,
  response_excerpt: '{"id":"sPs71M8A2T","event":"message"}',
  reason: null,
  message: "4711",
};

export const EXAMPLE_TEST: DeliveryJson = {
  ...EXAMPLE_DELIVERY,
  id: "4712",
  kind: "test",
  check: null,
  check_name: null,
  state: "pending",
  attempts: 0,
  attempted_at: null,
  next_try_at: "2026-11-15T09:30:00.900000+00:00",
  settled_at: null,
  request: null,
  response_code: null,
  response_excerpt: null,
  message: null,
};

export const EXAMPLE_CHECK = { id: CHECK_ID, name: "Nightly backup" };

export const EXAMPLE_KIND = {
  kind: "slack",
  title: "Slack",
  about: "Sends messages to a Slack channel.",
  rate: { per_minute: 60, burst: 10 },
  config: { type: "object", required: ["url"], properties: { url: { type: "string", writeOnly: true } } },
};

export const EXAMPLE_CREATE = {
  kind: "ntfy",
  name: "Phones",
  config: { topic: "our-secret-topic", priority: 5 },
  checks: "*",
};

export const EXAMPLE_CHANGE = { name: "Phones", config: { priority: 4 }, enabled: true };
