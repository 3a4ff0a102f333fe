// Messages to subscribers of status pages, as emails and as JSON for webhooks. They have only what is public.
import type { Instant } from "../core/instant.ts";
import type { StatusNews } from "../core/status-page.ts";
import { button, mailPage, mailText, paragraph, row, undisguised } from "./email-layout.ts";
import type { RenderedMail } from "./kinds/email.ts";
import { instantText, oneLine, type Tone } from "./message-text.ts";

export type StatusMailOptions = {
  page: { title: string; url: string; zone: string };
  /** Confirms the address. */
  confirmUrl: string;
  unsubscribeUrl: string;
};

type Note = { subject: string; title: string; tone: Tone | null; sentences: readonly string[] };

/** The email about a change. */
export function statusMail(
  news: StatusNews,
  { page, confirmUrl, unsubscribeUrl }: StatusMailOptions,
): RenderedMail {
  const name = clean(page.title);
  const { subject, title, tone, sentences } = noteOf(news, { name, zone: page.zone });
  const isConfirm = news.kind === "confirm";
  const link = isConfirm
    ? { text: "Confirm and get updates", url: confirmUrl }
    : { text: "Open the status page", url: page.url };
  const footer = isConfirm
    ? [{ text: "If you weren't expecting this, you can ignore this email. You won't receive any updates." }]
    : [
        {
          text: `You get this because you subscribed to ${name}.`,
          link: { text: "Unsubscribe", url: unsubscribeUrl },
        },
      ];
  const rows = [row(sentences.map((sentence) => paragraph(sentence))), row(button(link))];
  const site = { name, url: page.url.replace(/\/$/, "") };
  return {
    subject,
    html: mailPage({ site, tone, title, preview: sentences[0] ?? title, rows, footer }),
    text: mailText({ title, blocks: [sentences, [`${link.text}: ${link.url}`]], footer }),
  };
}

function clean(text: string): string {
  return oneLine(undisguised(text));
}

function affects(entries: readonly string[]): string[] {
  return entries.length === 0 ? [] : [`Affected: ${entries.map((entry) => clean(entry)).join(", ")}.`];
}

function noteOf(news: StatusNews, { name, zone }: { name: string; zone: string }): Note {
  const time = (at: Instant) => instantText(at, zone);
  switch (news.kind) {
    case "confirm":
      return {
        subject: `Confirm your subscription to ${name}`,
        title: "Confirm your subscription",
        tone: null,
        sentences: [
          `Someone entered this address on the status page ${name} to get an email when something changes.`,
          "Nothing is sent until you confirm.",
        ],
      };
    case "state": {
      const entry = clean(news.entry);
      const isDown = news.to === "down";
      return {
        subject: isDown ? `${name}: ${entry} is down` : `${name}: ${entry} is back`,
        title: isDown ? `${entry} is down` : `${entry} is back`,
        tone: isDown ? "bad" : "good",
        sentences: [`Since ${time(news.at)}.`],
      };
    }
    case "incident": {
      const title = clean(news.title);
      return {
        subject: `${name}: ${title}${news.isResolved ? " (resolved)" : ""}`,
        title: news.isResolved ? `Resolved: ${title}` : title,
        tone: news.isResolved ? "good" : "bad",
        sentences: [undisguised(news.text), ...affects(news.entries)],
      };
    }
    case "maintenance": {
      const title = clean(news.title);
      return {
        subject: `${name}: maintenance, ${title}`,
        title: `Maintenance: ${title}`,
        tone: "notice",
        sentences: [
          `From ${time(news.from)} to ${time(news.until)}.`,
          undisguised(news.text),
          ...affects(news.entries),
        ],
      };
    }
  }
}

/** The body of a request to a webhook. Repeated attempts have the same `id`. */
export function statusWebhookBody(
  news: StatusNews,
  { id, page }: { id: string; page: { title: string; url: string } },
): string {
  return JSON.stringify({ id, page, event: news });
}
