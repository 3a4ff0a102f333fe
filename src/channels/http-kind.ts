// Makes a channel kind from a function that builds one HTTP request and a table of what the responses mean.
import type { Static, TObject } from "typebox";
import type { OutgoingRequest } from "../lib/outgoing-http.ts";
import type { ChannelKind, ChannelMessage, Outgoing } from "./channel-kind.ts";
import { type Answers, notTried, rejectionsIn, sendRequest } from "./http-request.ts";
import { type IncidentEvent, incidentEvent } from "./incident-event.ts";
import { type MessageText, messageText } from "./message-text.ts";

/** What a request is built from. */
export type Content<Config> = {
  words: MessageText;
  message: ChannelMessage;
  config: Config;
  out: Outgoing;
  /** For receivers that keep incidents. */
  incident: IncidentEvent;
};

/** A request, with its body as JSON, as a form, or as bytes of a type given by the headers. */
export type KindRequest = {
  method?: OutgoingRequest["method"];
  url: string;
  headers?: Readonly<Record<string, string>>;
  json?: unknown;
  form?: Readonly<Record<string, string>>;
  bytes?: Uint8Array;
  /** An admin has set the address in the settings of the server. */
  isAdminUrl?: boolean;
};

export type HttpKind<Schema extends TObject> = Omit<ChannelKind<Static<Schema>>, "schema" | "send"> & {
  schema: Schema;
  /** What the responses of its receiver mean; a function if that depends on whose key is used. */
  answers: Answers | ((content: { config: Static<Schema>; out: Pick<Outgoing, "keys"> }) => Answers);
  request: (content: Content<Static<Schema>>) => KindRequest;
};

/** A kind that sends each message as one HTTP request. */
export function httpKind<Schema extends TObject>({
  request,
  answers,
  ...kind
}: HttpKind<Schema>): ChannelKind<Static<Schema>> {
  const answersTo = (config: Static<Schema>, out: Pick<Outgoing, "keys">) =>
    typeof answers === "function" ? answers({ config, out }) : answers;
  return {
    ...kind,
    rejections: (config, out) => rejectionsIn(answersTo(config, out)),
    send: async (message, config, out) => {
      const missing = kind.unavailable?.(out) ?? null;
      if (missing !== null) return notTried(missing);
      const words = messageText(message, out);
      const incident = incidentEvent(message, words, out);
      const built = request({ words, message, config, out, incident });
      const http = built.isAdminUrl === true ? out.adminHttp : out.http;
      return sendRequest(toOutgoing(built), { http, now: out.now }, answersTo(config, out));
    },
  };
}

/** The request as it is sent. */
export function toOutgoing({
  method = "POST",
  url,
  headers = {},
  json,
  form,
  bytes,
}: KindRequest): OutgoingRequest {
  if (json !== undefined) {
    return {
      method,
      url,
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(json),
    };
  }
  if (form !== undefined) {
    return {
      method,
      url,
      headers: { "Content-Type": "application/x-www-form-urlencoded", ...headers },
      body: new URLSearchParams(form).toString(),
    };
  }
  return { method, url, headers, ...(bytes === undefined ? {} : { body: bytes }) };
}
