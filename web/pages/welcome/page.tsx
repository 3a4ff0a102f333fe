// The first run: from an owner to the first signal. Steps are all in sight and none holds back the next; what went
// well is one line, what did not says what to do.
import "./page.css";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { SetUp } from "../../../src/contract/web/set-up.ts";
import { get } from "../../api/api.ts";
import { boot } from "../../boot/boot.ts";
import { pageHref } from "../../shell/page-address.ts";
import { usePageTitle } from "../../shell/page-title.ts";
import { Queried } from "../../ui/page-state.tsx";
import { welcomeWords as words } from "../../words/welcome.ts";
import { AddressStep } from "./address-step.tsx";
import { ChannelStep } from "./channel-step.tsx";
import { CheckStep } from "./check-step.tsx";
import { MailStep } from "./mail-step.tsx";
import { Step } from "./step.tsx";

export function WelcomePage() {
  usePageTitle(words.tab);
  const query = useQuery({ queryKey: ["set-up"], queryFn: () => get<SetUp>("/set-up") });
  return (
    <div className="welcome">
      <header className="top">
        <h1>{words.title}</h1>
      </header>
      <p className="welcome-about">{words.about}</p>
      <Queried query={query}>
        {(setUp) => (
          <ol className="steps">
            <Step n={1} state="done" title={words.owner.title}>
              <p>
                {words.owner.text(boot.account?.email ?? "")}{" "}
                <Link className="link" href={pageHref("profile")}>
                  {words.owner.more}
                </Link>
              </p>
            </Step>
            <AddressStep site={setUp.site} />
            <MailStep mail={setUp.mail} />
            <CheckStep />
            <ChannelStep n={5} hasMail={setUp.mail.isSet} />
          </ol>
        )}
      </Queried>
    </div>
  );
}
