// What a channel would send, as the server renders it while the form is filled in.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ChannelPreview, PreviewEvent } from "../../src/contract/api/channels.ts";
import { call } from "../api.ts";
import { boot } from "../boot.ts";
import { useDebounced } from "../parts/hooks.ts";
import { Mark, StateShape } from "../ui/marks.tsx";
import { EVENT_WORDS, previewWords as words } from "../words/channels.ts";

/** Delay after the last change before the server renders it. */
const TYPING_MS = 400;

const EVENTS = Object.keys(EVENT_WORDS) as PreviewEvent[];

type PreviewProps = { project: string; kind: string; config: Readonly<Record<string, unknown>> };

export function MessagePreview({ project, kind, config }: PreviewProps) {
  const [event, setEvent] = useState<PreviewEvent>("down");
  const settled = useDebounced(config, TYPING_MS);
  const { data, isError } = useQuery({
    queryKey: ["channel-preview", project, kind, event, settled],
    queryFn: ({ signal }) =>
      call("previewChannel", { project, body: { kind, config: { ...settled }, event } }, signal),
    retry: false,
    // The last one stays while the next one is rendered.
    placeholderData: (before) => before,
  });
  return (
    <div className="channels-preview">
      <div className="check-switch" role="group" aria-label={words.event}>
        {EVENTS.map((one) => (
          <button key={one} type="button" aria-pressed={one === event} onClick={() => setEvent(one)}>
            {EVENT_WORDS[one]}
          </button>
        ))}
      </div>
      {isError && <p className="hint">{words.failed}</p>}
      {data !== undefined && <Message preview={data} event={event} />}
    </div>
  );
}

function Message({ preview, event }: { preview: ChannelPreview; event: PreviewEvent }) {
  const { title, text, isSent, requests } = preview;
  return (
    <>
      <div className="channels-said">
        <span className="channels-sender" aria-hidden="true">
          {boot.site.name.charAt(0)}
        </span>
        <div className={`channels-message is-${event}`} role="group" aria-label={words.title}>
          <p className="channels-headline">
            {event === "notice" ? (
              <Mark mark="silenced" />
            ) : (
              <StateShape state={event === "up" ? "up" : "down"} label={null} />
            )}
            <b>{title}</b>
          </p>
          {text.split("\n\n").map((block, index) => (
            <Block key={index} lines={block.split("\n")} />
          ))}
        </div>
      </div>
      {!isSent && <p className="warning">{words.notSent}</p>}
      {requests.length > 0 && (
        <details className="channels-request">
          <summary>{words.request(requests.length)}</summary>
          {requests.map((request, index) => (
            <div className="code" key={index}>
              <pre tabIndex={0} aria-label={words.request(1)}>
                {requestText(request)}
              </pre>
            </div>
          ))}
        </details>
      )}
    </>
  );
}

const FACT = /^([A-Z][^:]{1,30}): (.+)$/;
const URL_START = /^https?:\/\//;

/** Lines of a message: facts as a list, links as the buttons that most services make of them, anything else as text. */
function Block({ lines }: { lines: readonly string[] }) {
  const facts = lines.flatMap((line) => {
    const [, label, value] = FACT.exec(line) ?? [];
    return label === undefined || value === undefined ? [] : [{ label, value }];
  });
  if (facts.length < lines.length) return <p className="channels-text">{lines.join("\n")}</p>;
  if (facts.every(({ value }) => URL_START.test(value))) {
    return (
      <p className="channels-links">
        {facts.map(({ label }) => (
          <span key={label}>{label}</span>
        ))}
      </p>
    );
  }
  return (
    <dl className="channels-facts">
      {facts.map(({ label, value }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The request as text, with its JSON on several lines. */
export function requestText({ method, url, headers, body }: ChannelPreview["requests"][number]): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${url}`, ...lines, ...(body === "" ? [] : ["", readable(body)])].join("\n");
}

function readable(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
