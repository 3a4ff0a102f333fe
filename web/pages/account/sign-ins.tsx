// Who came into the account, and how often somebody tried in vain: its own record, for its owner alone.
import { useState } from "react";
import type { AccountPage, SignInRow } from "../../../src/contract/web/account.ts";
import { deviceName } from "../../parts/device.ts";
import { Row, Rows, Section } from "../../parts/section.tsx";
import { Button } from "../../ui/button.tsx";
import { Ago, When } from "../../ui/when.tsx";
import { accountWords, METHOD_WORDS } from "../../words/account.ts";

const words = accountWords.signIns;
const SHOWN_AT_FIRST = 5;

export function SignIns({ account }: { account: AccountPage }) {
  const { signIns, failedSignIns: failed } = account;
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? signIns : signIns.slice(0, SHOWN_AT_FIRST);
  return (
    <Section title={words.title} about={words.about}>
      {failed !== null && (
        <p className="rows-about">
          {words.failedSince(failed.count)} <Ago at={failed.lastAt} />.
        </p>
      )}
      <Rows label={words.list} none={words.none}>
        {shown.map((signIn, index) => (
          <SignIn key={`${signIn.at} ${index}`} signIn={signIn} />
        ))}
      </Rows>
      {shown.length < signIns.length && (
        <Button onClick={() => setWhole(true)}>{words.more(signIns.length - shown.length)}</Button>
      )}
    </Section>
  );
}

function SignIn({ signIn }: { signIn: SignInRow }) {
  const { at, method, ua, remoteAddr, failedCount } = signIn;
  return (
    <Row
      name={<span title={ua}>{deviceName(ua)}</span>}
      mark={failedCount === 0 ? null : words.failed(failedCount)}
      about={
        <>
          {remoteAddr !== null && `${remoteAddr} · `}
          <When at={at} /> · {METHOD_WORDS[method]}
        </>
      }
    />
  );
}
