// Mail: whether it is set, and a test that shows what the mail server really said. May be left for later.
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { MailState, MailTest } from "../../../src/contract/web/set-up.ts";
import { send, troubleText } from "../../api/api.ts";
import { boot } from "../../boot/boot.ts";
import { Notice } from "../../parts/section.tsx";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { TextField } from "../../ui/field.tsx";
import { took, welcomeWords } from "../../words/welcome.ts";
import { MAIL_LINES } from "./proxy-lines.ts";
import { Step } from "./step.tsx";

const words = welcomeWords.mail;

export function MailStep({ mail }: { mail: MailState }) {
  const [to, setTo] = useState(boot.account?.email ?? "");
  const test = useMutation({
    mutationFn: () => send<MailTest>("POST", "/set-up/mail-test", { to: to.trim() }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    test.mutate();
  };
  const sent = test.data?.isSent;
  return (
    <Step n={3} state={sent === undefined ? "open" : sent ? "done" : "wrong"} title={words.title}>
      {mail.isSet ? (
        <>
          <p>{words.on(mail.host ?? "", mail.from ?? "")}</p>
          <form className="section-line" onSubmit={submit}>
            <TextField
              label={words.to}
              type="email"
              required
              autoComplete="email"
              value={to}
              onChange={(event) => setTo(event.target.value)}
              error={test.isError ? troubleText(test.error) : null}
            />
            <Button type="submit" isBusy={test.isPending}>
              {words.send}
            </Button>
          </form>
          {test.data !== undefined && <Outcome outcome={test.data} />}
        </>
      ) : (
        <>
          <p>{words.off}</p>
          <details className="step-more">
            <summary>{words.how}</summary>
            <p>{words.where}</p>
            <CodeBlock text={MAIL_LINES} label={words.settings} />
          </details>
        </>
      )}
      {sent !== true && <p className="hint">{words.skip}</p>}
    </Step>
  );
}

function Outcome({ outcome }: { outcome: MailTest }) {
  const { isSent, said, answer, code, tookMs } = outcome;
  const title = isSent ? words.sent(took(tookMs)) : words.refused(took(tookMs));
  return (
    <Notice kind={isSent ? "good" : "bad"} title={title}>
      <p>{said}</p>
      {answer !== null && answer !== "" && (
        <div className="field">
          <h3>{words.answer}</h3>
          <CodeBlock
            text={code === null || answer.startsWith(String(code)) ? answer : `${code} ${answer}`}
            label={words.answer}
          />
        </div>
      )}
    </Notice>
  );
}
