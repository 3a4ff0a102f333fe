// A text that somebody wrote, with links where it has URLs. Anything else of it is shown as it is.
import { textParts } from "./text-parts.ts";

export function LinkedText({ text }: { text: string }) {
  let at = 0;
  return textParts(text).map((part) => {
    const key = at;
    at += part.text.length;
    if (part.url === null) return <span key={key}>{part.text}</span>;
    return (
      <a key={key} className="link" href={part.url} target="_blank" rel="noopener noreferrer nofollow">
        {part.text}
      </a>
    );
  });
}
