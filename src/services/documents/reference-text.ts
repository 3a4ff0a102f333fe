// Text as HTML for the reference page: the few marks that our descriptions use. It is no general Markdown.
import { escapeHtml } from "../../lib/http/html.ts";

/** Paragraphs, `code` and **stress** as HTML; everything else is shown as it is. */
export function proseHtml(text: string): string {
  return text
    .split("\n\n")
    .map((paragraph) => {
      const html = escapeHtml(paragraph)
        .replace(/`([^`]+)`/g, "<code>$1</code>")
        .replace(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>");
      return `<p>${html}</p>`;
    })
    .join("\n");
}
