// Fields of channel configurations: JSON Schema for the API and the docs, with marks for validation and masking. Sets of
// fields that several kinds share come with their validation and with the events that they subscribe to.
import { type TSchema, Type } from "typebox";
import type { SubscribedEvent } from "../core/delivery.ts";
import type { Severity } from "../core/incident.ts";
import { groupDirection } from "../core/message.ts";
import type { ChannelMessage } from "./channel-kind.ts";

/** Attributes of a field in addition to JSON Schema. */
export type FieldMarks = {
  description: string;
  /** Secret: can be written but not read. */
  writeOnly?: boolean;
  /** A value is generated when a channel is created without one, and shown once. */
  "x-made"?: MadeSecret;
  /** …unless this other field is given. */
  "x-unless"?: string;
  /** What a value must be, as the end of "… must be", if the type alone does not say it. */
  "x-must"?: string;
};

export type MadeSecret = "webhookSecret" | "setUpCode";

type Given<Value> = {
  about: string;
  /** The default. Without it the field is required. */
  fallback?: Value;
  secret?: boolean;
  made?: MadeSecret;
  unless?: string;
  must?: string;
};

function marksOf<Value>({ about, fallback, secret, made, unless, must }: Given<Value>) {
  return {
    description: about,
    ...(fallback === undefined ? {} : { default: fallback }),
    ...(secret === true ? { writeOnly: true } : {}),
    ...(made === undefined ? {} : { "x-made": made }),
    ...(unless === undefined ? {} : { "x-unless": unless }),
    ...(must === undefined ? {} : { "x-must": must }),
  };
}

/** A text of limited length; an empty one is valid only if it is the default. */
export function textField(given: Given<string> & { lengthMax: number; pattern?: string }) {
  const { lengthMax, pattern } = given;
  return Type.String({
    ...marksOf(given),
    maxLength: lengthMax,
    ...(given.fallback === "" ? {} : { minLength: 1 }),
    ...(pattern === undefined ? {} : { pattern }),
  });
}

const ADDRESS_LENGTH_MAX = 1_000;

/** An http or https URL. Secret if knowing it is enough to send messages. */
export function addressField(given: Given<string>) {
  return Type.String({ ...marksOf(given), format: "uri", maxLength: ADDRESS_LENGTH_MAX });
}

/** A whole number. */
export function numberField(given: Given<number> & { min: number; max: number }) {
  return Type.Integer({ ...marksOf(given), minimum: given.min, maximum: given.max });
}

export function switchField(given: Given<boolean>) {
  return Type.Boolean(marksOf(given));
}

/** One of several values. */
export function choiceField<const Word extends string>(given: Given<Word> & { words: readonly Word[] }) {
  return Type.Enum([...given.words], marksOf(given));
}

const HEADERS_MAX = 30;

/** Headers by name. A text with one `Name: value` per line is accepted, too. */
export function headersField(given: Given<Record<string, string>>) {
  return Type.Record(Type.String(), Type.String(), { ...marksOf(given), maxProperties: HEADERS_MAX });
}

/** A list of distinct UUIDs. */
export function uuidsField(given: Given<string[]> & { countMax: number }) {
  return Type.Array(Type.String({ format: "uuid" }), {
    ...marksOf(given),
    minItems: 1,
    maxItems: given.countMax,
    uniqueItems: true,
  });
}

/** A configuration; no other fields are allowed. */
export function configSchema<Fields extends Record<string, TSchema>>(fields: Fields) {
  return Type.Object(fields, { additionalProperties: false });
}

/** A token, password or key without spaces; secret. */
export function tokenField(given: { about: string; lengthMax: number; fallback?: string }) {
  return textField({ ...given, pattern: "^[!-~]+$", must: "a token without spaces", secret: true });
}

/** The URL of a server that the user operates. It may have a path. */
export function serverField(given: { about: string; fallback?: string }) {
  return addressField(given);
}

/** A URL below the address of a server. */
export function below(server: string, path: string): string {
  return `${server.replace(/(?<!\/)\/+$/, "")}/${path}`;
}

const PHONE_LENGTH_MAX = 40;

/** A phone number in international format. It is stored without the spaces and hyphens that people type. */
export function phoneField(about: string) {
  return Type.String({ ...marksOf({ about }), format: "phone", maxLength: PHONE_LENGTH_MAX });
}

/** What a message is about, as channels subscribe to it. */
export function eventOf(message: ChannelMessage): SubscribedEvent {
  switch (message.kind) {
    case "down":
    case "up":
      return message.kind;
    case "group":
      return groupDirection(message);
    case "notice":
    case "disabled":
    case "operator":
      return "notice";
  }
}

type Switches = { down: boolean; up: boolean; notice: boolean };

/** A switch for each event. */
export function eventSwitches(on: Switches) {
  return {
    fields: {
      down: switchField({ about: "Notify when a check goes down.", fallback: on.down }),
      up: switchField({ about: "Notify when a check comes back up.", fallback: on.up }),
      notice: switchField({ about: "Send notices, such as monitoring gap notices.", fallback: on.notice }),
    },
    validate: ({ down, up, notice }: Switches) =>
      down || up || notice ? null : "At least one of down, up, and notice must be true.",
    isSubscribed: (config: Switches, what: SubscribedEvent) => config[what],
  };
}

type Priorities = { priority: number; priority_up: number; priority_notice: number };

/** A priority for each event. */
export function priorities(given: {
  /** Priorities that can be chosen, and what they mean. */
  min: number;
  max: number;
  scale: string;
  /** The priority that sends nothing; the lowest one. */
  off: number;
  fallback: Priorities;
  /** At most this for a low severity, and at least this for a high one. */
  low: number;
  high: number;
}) {
  const { min, max, off, fallback, low, high } = given;
  const field = (about: string, priority: number) =>
    numberField({
      about: `${about}, ${given.scale}. Use ${off} to send nothing.`,
      min,
      max,
      fallback: priority,
    });
  const severe = (priority: number, severity: Severity) => {
    if (severity === "normal") return priority;
    return severity === "low" ? Math.min(priority, low) : Math.max(priority, high);
  };
  const names = { down: "priority", up: "priority_up", notice: "priority_notice" } as const;
  return {
    fields: {
      priority: field("Priority when a check goes down", fallback.priority),
      priority_up: field("Priority when a check comes back up", fallback.priority_up),
      priority_notice: field("Priority of notices, such as monitoring gap notices", fallback.priority_notice),
    },
    validate: (config: Priorities) =>
      Object.values(names).every((name) => config[name] === off)
        ? `At least one of priority, priority_up, and priority_notice must be greater than ${off}.`
        : null,
    isSubscribed: (config: Priorities, what: SubscribedEvent) => config[names[what]] !== off,
    /** The priority of a message. A message that is sent although its priority is off is a test. */
    of: (message: ChannelMessage, config: Priorities): number => {
      const event = eventOf(message);
      const priority = config[names[event]];
      const severity = "severity" in message ? message.severity : "normal";
      const raised = event === "down" ? severe(priority, severity) : priority;
      return raised === off ? fallback.priority_notice : raised;
    },
  };
}
