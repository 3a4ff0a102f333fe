// Links to the documentation. They open a new tab, because forms may have unsaved changes.
import { channelDocs, DOCS, type DocsTopic } from "../../src/contract/api/docs.ts";
import { siteUrl } from "../boot.ts";
import { docsWords, TOPIC_WORDS } from "../words/docs.ts";
import { Icon } from "./button.tsx";

/** A topic, or a kind of channel: each has a page. */
export type DocsTarget = DocsTopic | { name: string; title: string };

function docsPath(to: DocsTarget): string {
  return typeof to === "string" ? DOCS[to] : channelDocs(to.name);
}

type Props = { to: DocsTarget };

/** In the head of a page or a dialog. */
export function DocsLink({ to }: Props) {
  return (
    <a className="docs-link" href={siteUrl(docsPath(to))} target="_blank" rel="noopener">
      <Icon name="book" />
      <span className="docs-word">{docsWords.link}</span>
      <Topic to={to} />
    </a>
  );
}

/** After a text. */
export function LearnMore({ to }: Props) {
  return (
    <a className="link learn-more" href={siteUrl(docsPath(to))} target="_blank" rel="noopener">
      {docsWords.more}
      <Topic to={to} />
    </a>
  );
}

function Topic({ to }: Props) {
  const topic = typeof to === "string" ? TOPIC_WORDS[to] : to.title;
  return (
    <span className="sr">
      : {topic} {docsWords.newTab}
    </span>
  );
}

/** For menus, which have no links out of the app. */
export function openDocs(): void {
  window.open(siteUrl(DOCS.home), "_blank", "noopener");
}
