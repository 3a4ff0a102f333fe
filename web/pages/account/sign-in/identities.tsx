// Who of the identity provider opens the account, removed one by one.
import type { AccountPage, IdentityRow } from "../../../../src/contract/web/account.ts";
import { ConfirmButton } from "../../../parts/confirm.tsx";
import { Row, Rows, Section } from "../../../parts/section.tsx";
import { Ago, Day } from "../../../ui/when.tsx";
import { accountWords } from "../../../words/account.ts";
import { useChange } from "../use-account.ts";

const words = accountWords.identities;

export function Identities({ account }: { account: AccountPage }) {
  return (
    <Section title={words.title} about={words.about}>
      <Rows label={words.title}>
        {account.identities.map((identity) => (
          <Identity key={`${identity.issuer} ${identity.subject}`} identity={identity} />
        ))}
      </Rows>
    </Section>
  );
}

function Identity({ identity }: { identity: IdentityRow }) {
  const { issuer, subject, since, lastUsedAt } = identity;
  return (
    <Row
      name={<span title={words.known(subject)}>{issuer}</span>}
      about={
        <>
          {words.added} <Day at={since} /> · {words.used} <Ago at={lastUsedAt} />
        </>
      }
      acts={<RemoveIdentity identity={identity} />}
    />
  );
}

function RemoveIdentity({ identity: { issuer, subject } }: { identity: IdentityRow }) {
  const change = useChange();
  const body = { issuer, subject };
  return (
    <ConfirmButton
      label={words.removeOf(issuer)}
      title={words.removeTitle}
      text={words.removeText}
      act={words.remove}
      isBusy={change.isPending}
      error={change.error}
      onAct={() => change.mutate({ method: "POST", path: "/identities/remove", body, says: words.removed })}
    />
  );
}
