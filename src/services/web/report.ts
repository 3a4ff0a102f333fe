// The report email as a page, as a mail program would show it.
import { AppError, ERROR_TEXT } from "../../core/errors.ts";
import { REPORT_LENGTHS } from "../../contract/api/report.ts";
import { previewMail } from "../api/report.ts";
import { accountRoute, type WebRoute } from "./route.ts";

/** Emails have their styles in the text, and no scripts. */
const MAIL_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const preview = accountRoute({
  name: "preview of a report email",
  method: "GET",
  path: "/accounts/report-preview/:length/",
  access: "account",
  answer: async ({ context, account, params, now }) => {
    const length = REPORT_LENGTHS.find((one) => one === params["length"]);
    if (length === undefined) throw new AppError("not_found", ERROR_TEXT.notFound);
    const { html } = await previewMail(context, { account, length, now });
    return { html, headers: { "Content-Security-Policy": MAIL_POLICY, "X-Robots-Tag": "noindex" } };
  },
});

export const reportRoutes: readonly WebRoute[] = [preview];
