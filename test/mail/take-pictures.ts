// Pictures of all mails and of the pages that they link to, light and dark, on a desk and on a telephone, for people
// to look at:
// node test/mail/take-pictures.ts <folder> [names …]. Needs chromium.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { renderPage } from "../../src/services/web/plain-page.ts";
import { sampleMails, SITE } from "./sample-mails.ts";

/** The window of chromium cannot be as narrow as a telephone, so the mail stands in a frame. */
const WIDTHS = { desk: 760, phone: 390 } as const;
const HEIGHT = 1_500;

const PAGES = {
  pageAsk: {
    title: "Confirm your email address",
    sentences: ["Do you want to get alerts for the project Shop & Sons at ann@example.org?"],
    button: "Confirm and receive alerts",
  },
  pageDone: {
    title: "You've been unsubscribed",
    sentences: [
      "You'll no longer get alerts from this channel at a-very-long-address-that-goes-on@subdomain.example.org.",
      "The channel's owner has been notified.",
    ],
  },
};
const pages = Object.entries(PAGES).map(([name, page]) => [name, renderPage(page, SITE)] as const);
const mails = Object.entries(sampleMails()).map(([name, { html }]) => [name, html] as const);

const [folder = "", ...names] = process.argv.slice(2);
if (folder === "") throw new Error("name a folder for the pictures");
mkdirSync(folder, { recursive: true });
for (const [name, html] of [...mails, ...pages]) {
  if (names.length > 0 && !names.includes(name)) continue;
  for (const scheme of ["light", "dark"] as const) {
    for (const [device, width] of Object.entries(WIDTHS)) {
      const mail = join(resolve(folder), `${name}.html`);
      const page = join(resolve(folder), "frame.html");
      writeFileSync(mail, scheme === "dark" ? html.replace(/\(prefers-color-scheme: ?dark\)/, "all") : html);
      writeFileSync(
        page,
        `<body style="margin:0"><iframe src="${name}.html" width="${width}" height="${HEIGHT}" style="border:0">`,
      );
      execFileSync(
        "chromium",
        [
          "--headless=new",
          "--no-sandbox",
          "--disable-background-networking",
          "--hide-scrollbars",
          `--window-size=${WIDTHS.desk},${HEIGHT}`,
          `--screenshot=${join(resolve(folder), `${name}-${scheme}-${device}.png`)}`,
          `file://${page}`,
        ],
        { stdio: "ignore" },
      );
    }
  }
}
