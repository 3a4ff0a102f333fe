// Records the requests of a message as it is sent, or instead of sending it, and shows them without secrets.
import type { Instant } from "../core/instant.ts";
import { PREVIEW_LENGTH_MAX, PREVIEW_REQUESTS_MAX } from "../core/limits.ts";
import type { OutgoingRequest } from "../lib/outgoing-http.ts";
import type { BounceableMail, ChannelMessage, MailPort, Outgoing, Site } from "./channel-kind.ts";
import { fullText, PLAIN } from "./layout.ts";
import { clipStart, messageText } from "./message-text.ts";

const LIMITS = { max: 4_000, output: 1_000, value: 300, names: 2_000 } as const;

export class Recorder {
  readonly requests: OutgoingRequest[] = [];
  mail: BounceableMail | null = null;
  /** When the first request was complete. */
  renderedAt: Instant | null = null;
  readonly #now: () => Instant;

  constructor(now: () => Instant = () => 0) {
    this.#now = now;
  }

  /** Records requests and passes them on. Without `real`, every one gets a success response. */
  http(real: Outgoing["http"] | null): Outgoing["http"] {
    return {
      send: async (request) => {
        this.renderedAt ??= this.#now();
        if (real === null && this.requests.length >= PREVIEW_REQUESTS_MAX)
          throw new Error("too many requests for a preview");
        if (this.requests.length < PREVIEW_REQUESTS_MAX) this.requests.push(request);
        return real === null ? { status: 200, headers: {}, text: "{}" } : real.send(request);
      },
    };
  }

  /** The same for email. */
  mailPort(real: Pick<MailPort, "send"> | null): Pick<MailPort, "send"> {
    return {
      send: async (mail) => {
        this.renderedAt ??= this.#now();
        this.mail = mail;
        return real === null ? { kind: "sent", code: 250, response: "" } : real.send(mail);
      },
    };
  }

  /** The message and its requests as users may see them. */
  shown(
    message: ChannelMessage,
    { site, zone, clean }: { site: Site; zone: string; clean: (text: string) => string },
  ): Shown {
    const words = messageText(message, { site, zone });
    const show = (text: string) => clipStart(clean(text), PREVIEW_LENGTH_MAX);
    return {
      title: show(this.mail?.subject ?? words.headline),
      text: show(this.mail?.text ?? fullText(words, PLAIN, { limits: LIMITS })),
      requests: this.requests.map(({ method, url, headers = {}, body = "" }) => ({
        method,
        url: show(url),
        headers: Object.fromEntries(Object.entries(headers).map(([key, value]) => [key, show(value)])),
        body: typeof body === "string" ? show(body) : `${body.length} encrypted bytes`,
      })),
    };
  }
}

export type Shown = {
  title: string;
  text: string;
  requests: { method: string; url: string; headers: Record<string, string>; body: string }[];
};
