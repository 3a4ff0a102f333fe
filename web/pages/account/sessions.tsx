// Where the account is signed in.
import type { AccountPage, SessionRow } from "../../../src/contract/web/account.ts";
import { Row, Rows, Section } from "../../parts/section.tsx";
import { Button } from "../../ui/button.tsx";
import { toastTrouble } from "../../ui/toast.tsx";
import { Ago, When } from "../../ui/when.tsx";
import { accountWords, METHOD_WORDS } from "../../words/account.ts";
import { deviceName } from "../../parts/device.ts";
import { useChange } from "./use-account.ts";

const words = accountWords.sessions;
const END_OTHERS = {
  method: "POST",
  path: "/sessions/end-others",
  body: {},
  says: words.endedOthers,
} as const;

export function Sessions({ account }: { account: AccountPage }) {
  const change = useChange();
  const sessions = account.sessions.toSorted((a, b) => Number(b.isThis) - Number(a.isThis));
  return (
    <Section title={words.title} about={words.about}>
      <Rows label={words.list}>
        {sessions.map((session) => (
          <Session key={session.id} session={session} />
        ))}
      </Rows>
      {sessions.length > 1 && (
        <Button
          isBusy={change.isPending}
          onClick={() => change.mutate(END_OTHERS, { onError: toastTrouble })}
        >
          {words.endOthers}
        </Button>
      )}
    </Section>
  );
}

function Session({ session }: { session: SessionRow }) {
  const change = useChange();
  const name = deviceName(session.ua);
  const end = { method: "DELETE", path: `/sessions/${session.id}`, says: words.ended } as const;
  return (
    <Row
      name={<span title={session.ua}>{name}</span>}
      mark={session.isThis ? words.here : null}
      about={
        <>
          {session.remoteAddr !== null && `${session.remoteAddr} · `}
          {words.seen} <Ago at={session.seenAt} /> · {words.began} <When at={session.createdAt} />{" "}
          {METHOD_WORDS[session.method]}
        </>
      }
      acts={
        !session.isThis && (
          <Button
            kind="bare"
            aria-label={words.endOf(name)}
            isBusy={change.isPending}
            onClick={() => change.mutate(end, { onError: toastTrouble })}
          >
            {words.end}
          </Button>
        )
      }
    />
  );
}
