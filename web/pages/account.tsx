// The account page: profile, sign-in, sessions, recent sign-ins, emails, projects, and closing the account.
import "./account.css";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import type {
  AccountChangeBody,
  AccountPage,
  DensityName,
  SessionRow,
  SignInRow,
  ThemeName,
} from "../../src/contract/api/account.ts";
import { FIELD_LENGTHS } from "../../src/contract/api/limits.ts";
import { call, errorText, send } from "../api.ts";
import { browserZone, showDensity, shownDensity, showTheme, siteUrl, useTheme } from "../boot.ts";
import { pageHref, usePageTitle } from "../page-location.ts";
import { deviceName } from "../parts/device.ts";
import { Confirm, ConfirmButton } from "../parts/dialogs.tsx";
import { Notice, Row, Rows, Section } from "../parts/section.tsx";
import { TransferAnswer } from "../parts/transfer-answer.tsx";
import { ZoneField } from "../parts/zone-field.tsx";
import { Button } from "../ui/button.tsx";
import { UnsavedGuard } from "../ui/dialog.tsx";
import { DocsLink } from "../ui/docs-link.tsx";
import { SelectField, TextField } from "../ui/field.tsx";
import { Queried } from "../ui/page-state.tsx";
import { toastError } from "../ui/toast.tsx";
import { Ago, When } from "../ui/when.tsx";
import {
  accountWords,
  DENSITY_WORDS,
  METHOD_WORDS,
  REMINDER_WORDS,
  REPORT_WORDS,
  THEME_WORDS,
} from "../words/account.ts";
import { ROLE_WORDS } from "../words/settings.ts";
import { words as shared } from "../words/shared.ts";
import { Authenticator, EmailSection, Identities, Passkeys, PasswordSection } from "./account-sign-in.tsx";
import { AccessTokens } from "./account-tokens.tsx";
import { useAccount, useProfileChange, useSecurityChange, useWindows } from "./use-account.ts";

export function AccountScreen() {
  const query = useAccount();
  usePageTitle(accountWords.title);
  return (
    <>
      <header className="top">
        <h1>{accountWords.title}</h1>
        <DocsLink to="account" />
      </header>
      <Queried query={query}>{(account) => <Parts account={account} />}</Queried>
    </>
  );
}

function Parts({ account }: { account: AccountPage }) {
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
      <AccessTokens account={account} />
      <Reports account={account} />
      <OwnProjects account={account} />
      <CloseAccount account={account} />
    </div>
  );
}

// Profile: name, time zone, theme and density. Choices take effect at once.

const profileWords = accountWords.profile;
/** The value that stands for "no zone" in the list. */
const AS_BROWSER = "";

export function Profile({ account }: { account: AccountPage }) {
  return (
    <Section title={profileWords.title} about={profileWords.about}>
      <NameForm key={account.name} account={account} />
      <div className="account-pair">
        <ZoneChoice account={account} />
        <ThemeChoice />
        <DensityChoice />
      </div>
    </Section>
  );
}

function NameForm({ account }: { account: AccountPage }) {
  const [name, setName] = useState(account.name);
  const isTyped = name.trim() !== account.name;
  const change = useProfileChange();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate({ body: { name: name.trim() }, message: accountWords.saved });
  };
  return (
    <form className="section-line" onSubmit={submit}>
      <TextField
        label={profileWords.name}
        value={name}
        placeholder={profileWords.namePlaceholder}
        maxLength={FIELD_LENGTHS.accountName}
        autoComplete="name"
        dir="auto"
        onChange={(event) => setName(event.target.value)}
        error={change.isError ? errorText(change.error) : null}
      />
      <Button type="submit" isBusy={change.isPending} disabled={!isTyped}>
        {shared.save}
      </Button>
      <UnsavedGuard isUnsaved={isTyped} />
    </form>
  );
}

function ZoneChoice({ account }: { account: AccountPage }) {
  const change = useProfileChange();
  const keep = (chosen: string) =>
    change.mutate(
      { body: { zone: chosen === AS_BROWSER ? null : chosen }, message: accountWords.saved },
      // The time zone is part of the page.
      { onSuccess: () => location.reload(), onError: toastError },
    );
  return (
    <ZoneField
      label={profileWords.zone}
      value={account.zone ?? AS_BROWSER}
      instead={{ value: AS_BROWSER, label: profileWords.zoneOfBrowser(browserZone) }}
      {...(account.zone === null && { hint: profileWords.zoneOfBrowserHint })}
      disabled={change.isPending}
      onChange={keep}
    />
  );
}

function ThemeChoice() {
  const theme = useTheme();
  const change = useProfileChange();
  const keep = (wanted: ThemeName) => {
    showTheme(wanted);
    change.mutate({ body: { theme: wanted }, message: accountWords.saved }, { onError: toastError });
  };
  return <Choice label={profileWords.theme} value={theme} names={THEME_WORDS} onChoose={keep} />;
}

function DensityChoice() {
  const [density, setDensity] = useState(shownDensity);
  const change = useProfileChange();
  const show = (wanted: DensityName) => {
    showDensity(wanted);
    setDensity(wanted);
  };
  const keep = (wanted: DensityName) => {
    show(wanted);
    change.mutate(
      { body: { density: wanted }, message: accountWords.saved },
      {
        onError: (error) => {
          show(density);
          toastError(error);
        },
      },
    );
  };
  return <Choice label={profileWords.density} value={density} names={DENSITY_WORDS} onChoose={keep} />;
}

type ChoiceProps<Name extends string> = {
  label: string;
  value: Name;
  names: Readonly<Record<Name, string>>;
  onChoose: (name: Name) => void;
};

/** A choice between a few names. */
function Choice<Name extends string>({ label, value, names, onChoose }: ChoiceProps<Name>) {
  return (
    <SelectField label={label} value={value} onChange={(event) => onChoose(event.target.value as Name)}>
      {Object.entries<string>(names).map(([name, text]) => (
        <option key={name} value={name}>
          {text}
        </option>
      ))}
    </SelectField>
  );
}

// Emails other than alerts: reports and reminders.

const reportWords = accountWords.mail;

export function Reports({ account }: { account: AccountPage }) {
  return (
    <Section title={reportWords.title} about={reportWords.about} docs="account">
      {!account.offers.mail && <p className="rows-none">{reportWords.noMail}</p>}
      <div className="account-pair">
        <Often name="reports" label={reportWords.reports} value={account.reports} choices={REPORT_WORDS} />
        <Often
          name="reminders"
          label={reportWords.reminders}
          value={account.reminders}
          choices={REMINDER_WORDS}
        />
      </div>
    </Section>
  );
}

function Often(props: {
  name: "reports" | "reminders";
  label: string;
  value: string;
  choices: Readonly<Record<string, string>>;
}) {
  const { name, label, value, choices } = props;
  const change = useProfileChange();
  const to = (chosen: string): AccountChangeBody => ({ [name]: chosen });
  return (
    <SelectField
      label={label}
      value={value}
      disabled={change.isPending}
      onChange={(event) =>
        change.mutate(
          { body: to(event.target.value), message: accountWords.saved, undo: to(value) },
          { onError: toastError },
        )
      }
    >
      {Object.entries(choices).map(([chosen, text]) => (
        <option key={chosen} value={chosen}>
          {text}
        </option>
      ))}
    </SelectField>
  );
}

// Projects: leave one, or answer a transfer request.

const ownProjectsWords = accountWords.projects;
type Project = AccountPage["projects"][number];
type Transfer = AccountPage["transfers"][number];

/** The list of projects and the permissions are part of the page. */
function reload(): void {
  location.reload();
}

export function OwnProjects({ account }: { account: AccountPage }) {
  return (
    <Section title={ownProjectsWords.title} about={ownProjectsWords.about} docs="projects">
      {account.transfers.map((transfer) => (
        <AskedFor key={transfer.project} transfer={transfer} />
      ))}
      <Rows label={ownProjectsWords.list} none={ownProjectsWords.none}>
        {account.projects.map((project) => (
          <Row
            key={project.id}
            name={
              <Link className="account-project" href={pageHref("checks", { project: project.id })}>
                {project.name}
              </Link>
            }
            mark={ROLE_WORDS[project.role]}
            acts={project.role === "owner" ? null : <Leave project={project} />}
          />
        ))}
      </Rows>
    </Section>
  );
}

function Leave({ project }: { project: Project }) {
  const left = useMutation({
    mutationFn: () => call("leaveProject", { project: project.id }),
    onSuccess: reload,
  });
  return (
    <ConfirmButton
      label={ownProjectsWords.leaveOf(project.name)}
      title={ownProjectsWords.leaveTitle(project.name)}
      text={ownProjectsWords.leaveText}
      act={ownProjectsWords.leave}
      isBusy={left.isPending}
      error={left.error}
      onAct={() => left.mutate()}
    />
  );
}

function AskedFor({ transfer }: { transfer: Transfer }) {
  return (
    <Notice kind="asking" title={ownProjectsWords.asked(transfer.from, transfer.name)}>
      <TransferAnswer project={transfer.project} onAnswered={reload} />
    </Notice>
  );
}

// Sessions.

const sessionsWords = accountWords.sessions;
const END_OTHERS = {
  method: "POST",
  path: "/sessions/end-others",
  body: {},
  message: sessionsWords.endedOthers,
} as const;

export function Sessions({ account }: { account: AccountPage }) {
  const change = useSecurityChange();
  const sessions = account.sessions.toSorted((a, b) => Number(b.isCurrent) - Number(a.isCurrent));
  return (
    <Section title={sessionsWords.title} about={sessionsWords.about} docs="account">
      <Rows label={sessionsWords.list}>
        {sessions.map((session) => (
          <Session key={session.id} session={session} />
        ))}
      </Rows>
      {sessions.length > 1 && (
        <Button isBusy={change.isPending} onClick={() => change.mutate(END_OTHERS, { onError: toastError })}>
          {sessionsWords.endOthers}
        </Button>
      )}
    </Section>
  );
}

function Session({ session }: { session: SessionRow }) {
  const change = useSecurityChange();
  const name = deviceName(session.ua);
  const end = { method: "DELETE", path: `/sessions/${session.id}`, message: sessionsWords.ended } as const;
  return (
    <Row
      name={<span title={session.ua}>{name}</span>}
      mark={session.isCurrent ? sessionsWords.here : null}
      about={
        <>
          {session.remoteAddr !== null && `${session.remoteAddr} · `}
          {sessionsWords.seen} <Ago at={session.seenAt} /> · {sessionsWords.began}{" "}
          <When at={session.createdAt} /> {METHOD_WORDS[session.method]}
        </>
      }
      acts={
        !session.isCurrent && (
          <Button
            kind="bare"
            aria-label={sessionsWords.endOf(name)}
            isBusy={change.isPending}
            onClick={() => change.mutate(end, { onError: toastError })}
          >
            {sessionsWords.end}
          </Button>
        )
      }
    />
  );
}

// Recent sign-ins and the number of failed attempts.

const signInsWords = accountWords.signIns;
const SHOWN_AT_FIRST = 5;

export function SignIns({ account }: { account: AccountPage }) {
  const { signIns, failedSignIns: failed } = account;
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? signIns : signIns.slice(0, SHOWN_AT_FIRST);
  return (
    <Section title={signInsWords.title} about={signInsWords.about} docs="account">
      {failed !== null && (
        <p className="rows-about">
          {signInsWords.failedSince(failed.count)} <Ago at={failed.lastAt} />.
        </p>
      )}
      <Rows label={signInsWords.list} none={signInsWords.none}>
        {shown.map((signIn, index) => (
          <SignIn key={`${signIn.at} ${index}`} signIn={signIn} />
        ))}
      </Rows>
      {shown.length < signIns.length && (
        <Button onClick={() => setWhole(true)}>{signInsWords.more(signIns.length - shown.length)}</Button>
      )}
    </Section>
  );
}

function SignIn({ signIn }: { signIn: SignInRow }) {
  const { at, method, ua, remoteAddr, failedCount } = signIn;
  return (
    <Row
      name={<span title={ua}>{deviceName(ua)}</span>}
      mark={failedCount === 0 ? null : signInsWords.failed(failedCount)}
      about={
        <>
          {remoteAddr !== null && `${remoteAddr} · `}
          <When at={at} /> · {METHOD_WORDS[method]}
        </>
      }
    />
  );
}

// Closing the account, confirmed by typing its address.

const closeWords = accountWords.close;

export function CloseAccount({ account }: { account: AccountPage }) {
  const { open, show, close } = useWindows(account);
  const closed = useMutation({
    mutationFn: (email: string) => send("POST", "/account/close", { email }),
    onSuccess: () => location.assign(siteUrl("/accounts/login/")),
  });
  return (
    <Section title={closeWords.title} about={closeWords.about} docs="account">
      <Button kind="danger" onClick={() => show("close")}>
        {closeWords.act}
      </Button>
      <Confirm
        isOpen={open === "close"}
        onClose={close}
        title={closeWords.ask}
        text={closeWords.text}
        act={closeWords.act}
        typed={{ label: closeWords.typed(account.email), value: account.email }}
        isBusy={closed.isPending}
        error={closed.error}
        onAct={(email) => closed.mutate(email)}
      />
    </Section>
  );
}
