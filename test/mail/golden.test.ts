// Every mail, compared letter by letter with files that somebody has read and seen as pictures. `npx vitest run -u`
// writes them anew; read them again then, and look at what take-pictures.ts makes of them.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sampleMails } from "./sample-mails.ts";

const FOLDER = join(import.meta.dirname, "golden");
const MAILS = Object.entries(sampleMails());
/** Their length is judged in another test; nobody reads them. */
const UNREAD = ["extreme", "groupExtreme"];

describe.each(MAILS.filter(([name]) => !UNREAD.includes(name)))(
  "The email %s",
  (name, { subject, text, html }) => {
    test("says as text what was read and found good", async () => {
      await expect(`Subject: ${subject}\n\n${text}`).toMatchFileSnapshot(join(FOLDER, `${name}.txt`));
    });

    test("is the HTML that was looked at", async () => {
      await expect(html).toMatchFileSnapshot(join(FOLDER, `${name}.html`));
    });
  },
);

test("there is no golden file of an email that does not exist", () => {
  const names = new Set(MAILS.map(([name]) => name));
  const strays = readdirSync(FOLDER).filter((file) => !names.has(file.replace(/\.(txt|html)$/, "")));
  expect(strays).toEqual([]);
});
