// What setting up works with besides the rest of the house: handed in by the role.
import type { Miss } from "../../../lib/http/recent-misses.ts";
import type { MailResult } from "../../../lib/mail/mail.ts";

export type SetUpParts = {
  /** Where the program itself listens, behind a proxy or not. */
  port: number;
  /** Requests to this process that found nothing, since an instant, the newest first. */
  missesSince(at: number): Miss[];
  /** The mail server of the settings; null: there is none. */
  mail: {
    host: string;
    from: string;
    /** Sends one mail over a connection of its own. Never throws. */
    send(mail: { to: string; subject: string; text: string; html: string }): Promise<MailResult>;
  } | null;
};
