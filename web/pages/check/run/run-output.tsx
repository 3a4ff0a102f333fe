// The output of a run: text with a search, the difference against the last success, a mail decoded, and the raw bytes.
// HTML of mails is shown in a frame that may do nothing at all.
import { useState } from "react";
import type { Run, RunBody } from "../../../../src/contract/web/history.ts";
import { apiUrl } from "../../../api/api.ts";
import { Tabs, type Tab } from "../../../ui/tabs.tsx";
import { runWords as words } from "../../../words/check/run.ts";
import { formatBytes } from "../../../words/number.ts";
import { RunDiff } from "./run-diff.tsx";
import { SearchedText } from "./searched-text.tsx";

export function RunOutput({ id, run }: { id: string; run: Run }) {
  const { body } = run;
  const trouble = body?.trouble ?? null;
  const tabs = body === null ? [] : tabsOf(run, body);
  const first = run.kind === "fail" && run.diff !== null ? "diff" : (tabs[0]?.name ?? "");
  const [chosen, setChosen] = useState(first);
  return (
    <section className="run-output" aria-labelledby="run-output">
      <div className="check-part-head">
        <h3 id="run-output">{words.output}</h3>
        {body !== null && (
          <a className="link" href={apiUrl(`/checks/${id}/runs/${run.n}/body`)} download>
            {words.download} · {formatBytes(body.size)}
          </a>
        )}
      </div>
      {body === null && <p className="muted">{words.noBody}</p>}
      {trouble !== null && <p className="check-note">{words.trouble(trouble)}</p>}
      {body?.isBinary === true && <p className="muted">{words.binary(formatBytes(body.size))}</p>}
      {tabs.length === 1 && tabs[0]?.body}
      {tabs.length > 1 && <Tabs tabs={tabs} label={words.output} value={chosen} onChange={setChosen} />}
    </section>
  );
}

function tabsOf({ diff }: Run, { text, plain, mail }: RunBody): Tab[] {
  const tabs: Tab[] = [];
  if (mail !== null) {
    tabs.push({ name: "mail", label: words.tabs.mail, body: <Mail mail={mail} /> });
    if (mail.html !== null)
      tabs.push({ name: "html", label: words.tabs.html, body: <Html html={mail.html} /> });
  }
  if (text !== null) {
    const label = mail === null ? words.tabs.text : words.tabs.raw;
    tabs.push({ name: "text", label, body: <SearchedText text={plain ?? text} raw={text} /> });
  }
  if (diff !== null) tabs.push({ name: "diff", label: words.tabs.diff, body: <RunDiff diff={diff} /> });
  return tabs;
}

function Mail({ mail: { subject, from, text } }: { mail: NonNullable<RunBody["mail"]> }) {
  return (
    <>
      <dl className="run-facts">
        <div>
          <dt>{words.from}</dt>
          <dd>{from}</dd>
        </div>
        <div>
          <dt>{words.subject}</dt>
          <dd dir="auto">{subject}</dd>
        </div>
      </dl>
      <SearchedText text={text} raw={text} />
    </>
  );
}

/** No scripts, no forms, no addresses of ours, nothing loaded from elsewhere: the page's own policy holds in it too. */
function Html({ html }: { html: string }) {
  return <iframe className="run-html" sandbox="" srcDoc={html} title={words.tabs.html} />;
}
