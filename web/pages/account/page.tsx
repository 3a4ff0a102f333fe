// The account of whoever is signed in: profile, ways to sign in, sessions, who came in, letters, projects, and its end.
import "./page.css";
import type { AccountPage as Account } from "../../../src/contract/web/account.ts";
import { usePageTitle } from "../../shell/page-title.ts";
import { Queried } from "../../ui/page-state.tsx";
import { accountWords as words } from "../../words/account.ts";
import { Closing } from "./closing.tsx";
import { EmailSection } from "./sign-in/email.tsx";
import { Letters } from "./letters.tsx";
import { Identities } from "./sign-in/identities.tsx";
import { Passkeys } from "./sign-in/passkeys.tsx";
import { PasswordSection } from "./sign-in/password.tsx";
import { Profile } from "./profile.tsx";
import { OwnProjects } from "./projects.tsx";
import { Sessions } from "./sessions.tsx";
import { SignIns } from "./sign-ins.tsx";
import { Authenticator } from "./sign-in/authenticator.tsx";
import { useAccount } from "./use-account.ts";

export function AccountPage() {
  const query = useAccount();
  usePageTitle(words.title);
  return (
    <>
      <header className="top">
        <h1>{words.title}</h1>
      </header>
      <Queried query={query}>{(account) => <Parts account={account} />}</Queried>
    </>
  );
}

function Parts({ account }: { account: Account }) {
  const { offers } = account;
  return (
    <div className="sections">
      <Profile account={account} />
      <EmailSection account={account} />
      {offers.passwords && <PasswordSection account={account} />}
      {(offers.passkeys || account.passkeys.length > 0) && <Passkeys account={account} />}
      {offers.passwords && <Authenticator account={account} />}
      {account.identities.length > 0 && <Identities account={account} />}
      <Sessions account={account} />
      <SignIns account={account} />
      <Letters account={account} />
      <OwnProjects account={account} />
      <Closing account={account} />
    </div>
  );
}
