// The state of the installation: what needs somebody, six facts, its processes, what it keeps, and a text for reports of
// bugs.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { AdminState } from "../../../src/contract/web/admin.ts";
import { send } from "../../api/api.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Notice, Section } from "../../parts/section.tsx";
import { pageHref } from "../../shell/page-address.ts";
import { setServiceState } from "../../shell/service-band.tsx";
import { Button, ButtonLink } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { StateShape } from "../../ui/marks/state-shape.tsx";
import { Ago, When } from "../../ui/when.tsx";
import { formatCount } from "../../../src/contract/web/list-words.ts";
import { adminWords as words, TROUBLE_WORDS } from "../../words/admin.ts";
import { formatShare } from "../../words/number.ts";
import { deviceName } from "../../parts/device.ts";
import { diagnosticsOf, type Fact, factsOf } from "./facts.ts";
import { Kept } from "./kept.tsx";
import { Quarantine } from "./quarantine.tsx";

export function Instance({ state }: { state: AdminState }) {
  const { diagnostics, setUp } = words;
  return (
    <>
      <SafeMode restore={state.restore} />
      <Troubles troubles={state.troubles} />
      <ul className="admin-facts" aria-label={words.facts}>
        {factsOf(state).map((fact) => (
          <FactCard key={fact.label} fact={fact} />
        ))}
      </ul>
      {state.intakes.length > 0 && <Processes intakes={state.intakes} />}
      <div className="sections admin-sections">
        <Quarantine quarantined={state.quarantined} />
        <Kept />
        <WaysIn state={state} />
        <Section title={setUp.title} about={setUp.about}>
          <ButtonLink href={pageHref("welcome")}>{setUp.act}</ButtonLink>
        </Section>
        <Section title={diagnostics.title} about={diagnostics.about}>
          <CodeBlock text={diagnosticsOf(state, deviceName(navigator.userAgent))} label={diagnostics.label} />
        </Section>
      </div>
    </>
  );
}

/** A restored copy, and the button that says that it is in service. */
function SafeMode({ restore }: { restore: AdminState["restore"] }) {
  const [isAsking, setAsking] = useState(false);
  const client = useQueryClient();
  const confirming = useMutation({
    mutationFn: () => send("POST", "/admin/confirm-restore"),
    onSuccess: async () => {
      setAsking(false);
      setServiceState("normal");
      await client.invalidateQueries({ queryKey: ["admin"] });
    },
  });
  if (restore === null || restore.state === "normal") return null;
  const { safeMode } = words;
  return (
    <section className="admin-troubles" aria-label={safeMode.title}>
      <Notice kind="bad" title={safeMode.title}>
        <p>{restore.reason ?? safeMode.checking}</p>
        <p>{safeMode.about}</p>
        <p>
          {safeMode.since} <When at={restore.sinceAt} />
        </p>
        <p>
          <Button kind="primary" onClick={() => setAsking(true)}>
            {safeMode.act}
          </Button>
        </p>
      </Notice>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={safeMode.ask}
        text={safeMode.askText}
        act={safeMode.act}
        onAct={() => confirming.mutate()}
        isBusy={confirming.isPending}
        error={confirming.error}
      />
    </section>
  );
}

function Troubles({ troubles }: { troubles: AdminState["troubles"] }) {
  if (troubles.length === 0) return null;
  return (
    <section className="admin-troubles" aria-label={words.troubles}>
      {troubles.map(({ trouble, subject, sinceAt }) => (
        <Notice key={`${trouble} ${subject}`} kind="bad" title={TROUBLE_WORDS[trouble] ?? trouble}>
          <p>
            {subject !== "" && `${subject} · `}
            {words.since} <When at={sinceAt} />
          </p>
        </Notice>
      ))}
    </section>
  );
}

function FactCard({ fact }: { fact: Fact }) {
  const { label, isWell, value, about, at } = fact;
  return (
    <li className={`admin-fact${isWell === false ? " is-bad" : ""}`}>
      <span className="admin-label">
        {isWell !== null && <StateShape state={isWell ? "up" : "down"} />}
        {label}
      </span>
      <b>{value}</b>
      <span className="muted">
        {about}
        {at !== null && (
          <>
            {" "}
            <When at={at} />
          </>
        )}
      </span>
    </li>
  );
}

function Processes({ intakes }: { intakes: AdminState["intakes"] }) {
  const { columns } = words;
  return (
    <table className="table admin-stacked">
      <caption>{words.processes}</caption>
      <thead>
        <tr>
          <th scope="col">{columns.name}</th>
          <th scope="col">{columns.beat}</th>
          <th scope="col">{columns.rate}</th>
          <th scope="col">{columns.spool}</th>
          <th scope="col">{columns.started}</th>
        </tr>
      </thead>
      <tbody>
        {intakes.map(({ name, beatAt, isLost, signalsPerMinute, spoolEmpty, spoolFill, startedAt }) => (
          <tr key={`${name} ${startedAt}`}>
            <td>
              <b>{name}</b>
            </td>
            <td data-label={columns.beat}>
              {isLost && <b className="admin-lost">{words.lost}, </b>}
              <Ago at={beatAt} />
            </td>
            <td data-label={columns.rate}>
              {signalsPerMinute === null ? words.rateUnknown : formatCount(signalsPerMinute)}
            </td>
            <td data-label={columns.spool}>
              {spoolEmpty ? words.spoolEmpty : words.spool(formatShare(spoolFill))}
            </td>
            <td data-label={columns.started}>
              <When at={startedAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function WaysIn({ state }: { state: AdminState }) {
  const { title, about, registration, open, closed, oidc, proxy, none } = words.waysIn;
  return (
    <Section title={title} about={about}>
      <dl className="admin-ways">
        <dt>{registration}</dt>
        <dd>{state.registrationOpen ? open : closed}</dd>
        <dt>{oidc}</dt>
        <dd>{state.signIn.oidc ?? none}</dd>
        <dt>{proxy}</dt>
        <dd>{state.signIn.proxyHeader ?? none}</dd>
      </dl>
    </Section>
  );
}
