// The first run: from an owner to the first signal. Steps are all in sight and none holds back the next; what went
// well is one line, what did not says what to do.
import "./page.css";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { SetUp } from "../../../src/contract/web/set-up.ts";
import { get, send } from "../../api/api.ts";
import { boot, browserZone, readerZone } from "../../boot/boot.ts";
import { pageHref } from "../../shell/page-address.ts";
import { usePageTitle } from "../../shell/page-title.ts";
import { Queried } from "../../ui/page-state.tsx";
import { toastTrouble } from "../../ui/toast.tsx";
import { welcomeWords as words } from "../../words/welcome.ts";
import { AddressStep } from "./address-step.tsx";
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
              {readerZone !== browserZone && <OtherZone />}
            </Step>
            <AddressStep site={setUp.site} />
            <MailStep mail={setUp.mail} />
            <CheckStep />
          </ol>
        )}
      </Queried>
    </div>
  );
}

/** A new account sees UTC, and new schedules begin with what it sees. */
function OtherZone() {
  const kept = useMutation({
    mutationFn: () => send("PATCH", "/account", { zone: browserZone }),
    // The zone that everything is shown in comes with the page.
    onSuccess: () => location.reload(),
    onError: toastTrouble,
  });
  return (
    <p>
      {words.owner.zone(readerZone)}{" "}
      <button type="button" className="link" disabled={kept.isPending} onClick={() => kept.mutate()}>
        {words.owner.ownZone(browserZone)}
      </button>
    </p>
  );
}
