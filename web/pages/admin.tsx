// The server admin page: health, accounts and the audit log.
import "./admin.css";
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link, useSearchParams } from "wouter";
import type {
  AdminAccount,
  AdminAccountBody,
  AdminAccounts,
  Retention,
  RetentionLimit,
  ServerState,
} from "../../src/contract/api/admin.ts";
import { formatCount } from "../../src/contract/api/words.ts";
import { call, errorText } from "../api.ts";
import { pageHref, usePageTitle } from "../page-location.ts";
import { AuditLog } from "../parts/audit-log.tsx";
import { deviceName } from "../parts/device.ts";
import { AddressDialog, Confirm, LinkDialog } from "../parts/dialogs.tsx";
import { Notice, Section } from "../parts/section.tsx";
import { setServiceState } from "../shell.tsx";
import { Button, ButtonLink, Icon, IconButton } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { Dialog, FormActions } from "../ui/dialog.tsx";
import { DocsLink, LearnMore } from "../ui/docs-link.tsx";
import { TextField } from "../ui/field.tsx";
import { StateShape } from "../ui/marks.tsx";
import { Menu, MenuItem } from "../ui/menu.tsx";
import { Failed, Loading, Queried, Tabs } from "../ui/page-state.tsx";
import { toast, toastError } from "../ui/toast.tsx";
import { Ago, Day, When } from "../ui/when.tsx";
import { accountsWords, adminWords, STORED_WORDS, PROBLEM_WORDS } from "../words/admin.ts";
import { drillSentence, fireDrillWords } from "../words/fire-drill.ts";
import { formatBytes, formatDuration, formatShare } from "../words/format.ts";
import { words as shared } from "../words/shared.ts";

const ASK_EVERY_MS = 5_000;
const TABS = ["state", "accounts", "record"] as const;

export function AdminPage() {
  const query = useQuery({
    queryKey: ["admin"],
    queryFn: ({ signal }) => call("getServerState", {}, signal),
    refetchInterval: ASK_EVERY_MS,
  });
  const [params, setParams] = useSearchParams();
  const title = query.data === undefined ? adminWords.tab : adminWords.title(query.data.problemCount);
  usePageTitle(title);
  const tab = TABS.find((name) => name === params.get("tab")) ?? "state";
  return (
    <>
      <header className="top">
        <h1>{title}</h1>
        <DocsLink to={tab === "state" ? "monitoring" : tab === "accounts" ? "signIn" : "auditLog"} />
      </header>
      <div className="admin-tabs">
        <Tabs
          label={adminWords.tabs.label}
          value={tab}
          onChange={(name) => setParams(name === "state" ? {} : { tab: name }, { replace: true })}
          tabs={[
            {
              name: "state",
              label: adminWords.tabs.state,
              body: <Queried query={query}>{(state) => <Instance state={state} />}</Queried>,
            },
            { name: "accounts", label: adminWords.tabs.accounts, body: <Accounts /> },
            { name: "record", label: adminWords.tabs.record, body: <AuditLog project={null} /> },
          ]}
        />
      </div>
    </>
  );
}

// Health: problems, six facts, processes, stored data, and diagnostics for bug reports.

export function Instance({ state }: { state: ServerState }) {
  const { diagnostics, setUp } = adminWords;
  return (
    <>
      <SafeMode restore={state.restore} />
      <Problems problems={state.problems} />
      <ul className="admin-facts" aria-label={adminWords.facts}>
        {factsOf(state).map((fact) => (
          <FactCard key={fact.label} fact={fact} />
        ))}
      </ul>
      {state.fireDrill !== null && <LastFireDrill last={state.fireDrill} />}
      {state.intakes.length > 0 && <Processes intakes={state.intakes} />}
      <div className="sections admin-sections">
        <Quarantine quarantined={state.quarantined} />
        <StoredData />
        <WaysIn state={state} />
        <Section title={setUp.title} about={setUp.about} docs="install">
          <ButtonLink href={pageHref("welcome")}>{setUp.act}</ButtonLink>
        </Section>
        <Section title={diagnostics.title} about={diagnostics.about} docs="serverTroubleshooting">
          <CodeBlock text={diagnosticsOf(state, deviceName(navigator.userAgent))} label={diagnostics.label} />
        </Section>
      </div>
    </>
  );
}

function LastFireDrill({ last }: { last: NonNullable<ServerState["fireDrill"]> }) {
  return (
    <p className="admin-fire-drill">
      <StateShape state={last.outcome === "ok" ? "up" : "down"} label={null} />{" "}
      {fireDrillWords.last(drillSentence(last))} (<Ago at={last.endedAt} />,{" "}
      <Link href={pageHref("fire-drill", { project: last.project.id })}>{last.project.name}</Link>)
    </p>
  );
}

/** Safe mode of a restored server, and the button that ends it. */
function SafeMode({ restore }: { restore: ServerState["restore"] }) {
  const [isAsking, setAsking] = useState(false);
  const client = useQueryClient();
  const confirming = useMutation({
    mutationFn: () => call("confirmRestore", {}),
    onSuccess: async () => {
      setAsking(false);
      setServiceState("normal");
      await client.invalidateQueries({ queryKey: ["admin"] });
    },
  });
  if (restore === null || restore.state === "normal") return null;
  const { safeMode } = adminWords;
  return (
    <section className="admin-troubles" aria-label={safeMode.title}>
      <Notice kind="bad" title={safeMode.title}>
        <p>{restore.reason ?? safeMode.checking}</p>
        <p>
          {safeMode.about} <LearnMore to="safeMode" />
        </p>
        <p>
          {safeMode.since} <When at={restore.since} />
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

function Problems({ problems }: { problems: ServerState["problems"] }) {
  if (problems.length === 0) return null;
  return (
    <section className="admin-troubles" aria-label={adminWords.problems}>
      {problems.map(({ kind, subject, since }) => (
        <Notice key={`${kind} ${subject}`} kind="bad" title={PROBLEM_WORDS[kind] ?? kind}>
          <p>
            {subject !== "" && `${subject} · `}
            {adminWords.since} <When at={since} /> <LearnMore to="healthProblems" />
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

function Processes({ intakes }: { intakes: ServerState["intakes"] }) {
  const { columns } = adminWords;
  return (
    <table className="table admin-stacked">
      <caption>{adminWords.processes}</caption>
      <thead>
        <tr>
          <th scope="col">{columns.name}</th>
          <th scope="col">{columns.heartbeat}</th>
          <th scope="col">{columns.rate}</th>
          <th scope="col">{columns.spool}</th>
          <th scope="col">{columns.started}</th>
        </tr>
      </thead>
      <tbody>
        {intakes.map(({ name, heartbeatAt, isLost, pingsPerMinute, spoolEmpty, spoolFill, startedAt }) => (
          <tr key={`${name} ${startedAt}`}>
            <td>
              <b>{name}</b>
            </td>
            <td data-label={columns.heartbeat}>
              {isLost && <b className="admin-lost">{adminWords.lost}, </b>}
              <Ago at={heartbeatAt} />
            </td>
            <td data-label={columns.rate}>
              {pingsPerMinute === null ? adminWords.rateUnknown : formatCount(pingsPerMinute)}
            </td>
            <td data-label={columns.spool}>
              {spoolEmpty ? adminWords.spoolEmpty : adminWords.spool(formatShare(spoolFill))}
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

function WaysIn({ state }: { state: ServerState }) {
  const { title, about, registration, open, closed, oidc, proxy, none } = adminWords.signInMethods;
  return (
    <Section title={title} about={about} docs="signIn">
      <dl className="admin-ways">
        <dt>{registration}</dt>
        <dd>{state.registrationOpen ? open : closed}</dd>
        <dt>{oidc}</dt>
        <dd>{state.signIn.oidcIssuer ?? none}</dd>
        <dt>{proxy}</dt>
        <dd>{state.signIn.proxyHeader ?? none}</dd>
      </dl>
    </Section>
  );
}

// The text of each fact. The server decides which part is healthy.

export type Fact = {
  label: string;
  /** Null: it is neither good nor bad. */
  isWell: boolean | null;
  value: string;
  about: string;
  /** A time that is shown after the text. */
  at: number | null;
};

export function factsOf(state: ServerState): Fact[] {
  return [
    intakeFact(state),
    ...logFact(state),
    deadlinesFact(state),
    notificationsFact(state),
    emailQueueFact(state),
    databaseFact(state),
    versionFact(state),
  ];
}

function intakeFact({ intakes, health, pingsPerMinute }: ServerState): Fact {
  const { label, none, noneText, ok, lost, lostText, spool, spoolEmpty, rate, logged } = adminWords.intake;
  const fact = { label, isWell: health.receiving, at: null };
  const lostCount = intakes.filter(({ isLost }) => isLost).length;
  if (lostCount > 0) return { ...fact, value: lost(lostCount), about: lostText };
  if (intakes.length === 0) return { ...fact, value: none, about: noneText };
  const fill = Math.max(...intakes.map(({ spoolFill }) => spoolFill));
  const isEmpty = intakes.every((intake) => intake.spoolEmpty);
  const waits = isEmpty ? spoolEmpty : spool(formatShare(fill));
  const about = pingsPerMinute === null ? logged : `${rate(pingsPerMinute)} ${waits}`;
  return { ...fact, value: ok(intakes.length), about };
}

/** Heartbeats and batches take this long. */
const LOG_BEHIND_MS_MIN = 10_000;

function logFact({ log }: ServerState): Fact[] {
  if (log === null) return [];
  const { label, ok, behind, none, noneText, stopped, stoppedText, about } = adminWords.log;
  const fact = { label, isWell: log.stopped === 0 && log.recorders > 0, at: null };
  if (log.stopped > 0) return [{ ...fact, value: stopped(log.stopped), about: stoppedText }];
  if (log.recorders === 0) return [{ ...fact, value: none, about: noneText }];
  const value = log.behindMs < LOG_BEHIND_MS_MIN ? ok : behind(formatDuration(log.behindMs));
  return [{ ...fact, value, about: about(log.partitions, log.recorders) }];
}

function deadlinesFact({ sweeperLagMs, health }: ServerState): Fact {
  const {
    label,
    ok,
    okText,
    oldest,
    behind,
    behindText,
    blocked: held,
    blockedText: heldText,
  } = adminWords.deadlines;
  const fact = { label, isWell: health.monitoring, at: null };
  const lag = formatDuration(sweeperLagMs);
  if (health.monitoring !== false)
    return { ...fact, value: ok, about: sweeperLagMs === 0 ? okText : oldest(lag) };
  if (sweeperLagMs === 0) return { ...fact, value: held, about: heldText };
  return { ...fact, value: behind(lag), about: behindText };
}

function notificationsFact({ unsentCount, oldestUnsentAt, health }: ServerState): Fact {
  const { label, ok, okText, waits, oldest, later, laterText } = adminWords.notifications;
  const fact = { label, isWell: health.notifications, at: oldestUnsentAt };
  if (unsentCount === 0) return { ...fact, value: ok, about: okText };
  if (oldestUnsentAt === null) return { ...fact, value: later(unsentCount), about: laterText };
  return { ...fact, value: waits(unsentCount), about: oldest };
}

function emailQueueFact({ sendsMail, oldestEmailAt, health }: ServerState): Fact {
  const { label, on, off, offText, waits, okText } = adminWords.emailQueue;
  const fact = { label, isWell: health.email };
  if (!sendsMail) return { ...fact, value: off, about: offText, at: null };
  return { ...fact, value: on, about: oldestEmailAt === null ? okText : waits, at: oldestEmailAt };
}

function databaseFact({ databaseBytes, migrations, health }: ServerState): Fact {
  const { label, migrations: applied, pending } = adminWords.database;
  const left = migrations.filter(({ appliedAt }) => appliedAt === null).length;
  return {
    label,
    isWell: health.database,
    value: formatBytes(databaseBytes),
    about: left === 0 ? applied(migrations.length) : pending(left),
    at: null,
  };
}

function versionFact(state: ServerState): Fact {
  return {
    label: adminWords.version.label,
    isWell: null,
    value: state.version,
    about: adminWords.version.newest(state.migrations.at(-1)?.name ?? ""),
    at: null,
  };
}

/** A text for bug reports, without names, addresses, and secrets. */
export function diagnosticsOf(state: ServerState, browser: string): string {
  const { version: running, now, intakes, sweeperLagMs, unsentCount, oldestUnsentAt, oldestEmailAt } = state;
  const since = (at: number | null) => (at === null ? "none" : formatDuration(now - at));
  const lines: [string, string][] = [
    ["version", running],
    ["at", new Date(now).toISOString()],
    ["browser", browser],
    ["intakes", String(intakes.length)],
    ...intakes.map(({ startedAt, heartbeatAt, isLost, spoolEmpty, spoolFill }, index): [string, string] => [
      `ping process ${index + 1}`,
      `up ${since(startedAt)}, heartbeat ${since(heartbeatAt)} ago, ${isLost ? "lost" : "ok"}, spool ${spoolEmpty ? "empty" : formatShare(spoolFill)}`,
    ]),
    ["pings per minute", state.pingsPerMinute === null ? "unknown" : String(state.pingsPerMinute)],
    [
      "log",
      state.log === null
        ? "off"
        : `${state.log.partitions} partitions, ${state.log.stopped} stopped, ${state.log.recorders} recorders, ${formatDuration(state.log.behindMs)} behind`,
    ],
    ["sweeper lag", formatDuration(sweeperLagMs)],
    ["unsent notifications", `${unsentCount}, oldest due ${since(oldestUnsentAt)}`],
    ["oldest unsent email", since(oldestEmailAt)],
    ["database", formatBytes(state.databaseBytes)],
    [
      "migrations",
      state.migrations
        .map(({ name, appliedAt }) => (appliedAt === null ? `${name} (missing)` : name))
        .join(", "),
    ],
    [
      "problems",
      state.problems.map((problem) => `${problem.kind} for ${since(problem.since)}`).join(", ") || "none",
    ],
    ["mail", state.sendsMail ? "on" : "off"],
    ["registration", state.registrationOpen ? "open" : "closed"],
    [
      "sign-in",
      `oidc ${state.signIn.oidcIssuer === null ? "off" : "on"}, proxy header ${state.signIn.proxyHeader === null ? "off" : "on"}`,
    ],
  ];
  return lines.map(([name, value]) => `${name}: ${value}`).join("\n");
}

// What is stored, for how long, and its size.

const storedWords = adminWords.retention;

/** Fetched once per visit: sizes change slowly, and reading them touches every table. */
export function StoredData() {
  const query = useQuery({
    queryKey: ["admin-retention"],
    queryFn: ({ signal }) => call("getRetention", {}, signal),
  });
  return (
    <Section title={storedWords.title} about={storedWords.about} docs="retention">
      <Queried query={query}>{(answer) => <StoredTable answer={answer} />}</Queried>
    </Section>
  );
}

function StoredTable({ answer }: { answer: Retention }) {
  const { columns } = storedWords;
  return (
    <>
      <table className="table admin-kept" aria-label={storedWords.list}>
        <thead>
          <tr>
            <th scope="col">{columns.what}</th>
            <th scope="col">{columns.bound}</th>
            <th scope="col">{columns.rows}</th>
            <th scope="col">{columns.bytes}</th>
          </tr>
        </thead>
        <tbody>
          {answer.retention.map(({ data, limit, rowCount, bytes }) => (
            <tr key={data}>
              <th scope="row">{STORED_WORDS[data]}</th>
              <td>{limitText(limit)}</td>
              <td>{rowCount === null ? storedWords.none : formatCount(rowCount)}</td>
              <td>{formatBytes(bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {answer.hasObjectStore && <p className="rows-none">{storedWords.objects}</p>}
    </>
  );
}

function limitText(limit: RetentionLimit | null): string {
  if (limit === null) return storedWords.each;
  if (limit.by === "perCheck") return storedWords.perCheck(limit.count, limit.days);
  return limit.by === "days" ? storedWords.days(limit.days) : storedWords.deletion(limit.days);
}

const quarantineWords = adminWords.quarantine;

/** Pings that could not be recorded, with the reason, and a way to try again. */
export function Quarantine({ quarantined }: { quarantined: ServerState["quarantined"] }) {
  const client = useQueryClient();
  const retry = useMutation({
    mutationFn: () => call("retryQuarantine", {}),
    onSuccess: (retried) => {
      void client.invalidateQueries({ queryKey: ["admin"] });
      toast({ text: quarantineWords.retried(retried) });
    },
    onError: toastError,
  });
  const { count, pings } = quarantined;
  if (count === 0) return null;
  const { columns } = quarantineWords;
  return (
    <Section title={quarantineWords.title} about={quarantineWords.about} docs="quarantine">
      <table className="table admin-stacked">
        <caption>{quarantineWords.caption}</caption>
        <thead>
          <tr>
            <th scope="col">{columns.received}</th>
            <th scope="col">{columns.check}</th>
            <th scope="col">{columns.reason}</th>
          </tr>
        </thead>
        <tbody>
          {pings.map(({ id, receivedAt, check, reason }) => (
            <tr key={id}>
              <td>
                <When at={receivedAt} />
              </td>
              <td data-label={columns.check}>{check ?? quarantineWords.unknownCheck}</td>
              <td data-label={columns.reason}>{reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {count > pings.length && <p className="muted">{quarantineWords.more(count - pings.length)}</p>}
      <Button isBusy={retry.isPending} onClick={() => retry.mutate()}>
        {quarantineWords.retry}
      </Button>
    </Section>
  );
}

// All accounts.

type OpenDialog = { what: "invite" } | { what: "limit" | "admin"; account: AdminAccount } | null;

export function Accounts() {
  const [dialog, setDialog] = useState<OpenDialog>(null);
  const query = useInfiniteQuery({
    queryKey: ["admin-accounts"],
    queryFn: ({ pageParam, signal }) =>
      call("listAccounts", pageParam === null ? {} : { query: { cursor: pageParam } }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
  if (query.isPending) return <Loading />;
  if (query.isError) return <Failed error={query.error} onRetry={() => void query.refetch()} />;
  const accounts = query.data.pages.flatMap((page) => page.accounts);
  const close = () => setDialog(null);
  return (
    <>
      <p className="admin-invite">
        <Button onClick={() => setDialog({ what: "invite" })}>{accountsWords.invite}</Button>
      </p>
      <AccountsTable accounts={accounts} onDialog={setDialog} />
      {query.hasNextPage && (
        <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          {accountsWords.more}
        </Button>
      )}
      {dialog?.what === "invite" && (
        <InviteDialog invitesBy={query.data.pages[0]?.invitesBy ?? "link"} onClose={close} />
      )}
      {dialog?.what === "limit" && <LimitDialog account={dialog.account} onClose={close} />}
      {dialog?.what === "admin" && <AdminDialog account={dialog.account} onClose={close} />}
    </>
  );
}

function AccountsTable({
  accounts,
  onDialog,
}: {
  accounts: readonly AdminAccount[];
  onDialog: (dialog: OpenDialog) => void;
}) {
  const { columns } = accountsWords;
  return (
    <table className="table admin-stacked">
      <thead>
        <tr>
          <th scope="col">{columns.who}</th>
          <th scope="col">{columns.checks}</th>
          <th scope="col">{columns.seen}</th>
          <th scope="col">{columns.made}</th>
          <th scope="col">
            <span className="sr">{columns.act}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {accounts.map((account) => (
          <Line key={account.id} account={account} onDialog={onDialog} />
        ))}
      </tbody>
    </table>
  );
}

function Line({ account, onDialog }: { account: AdminAccount; onDialog: (dialog: OpenDialog) => void }) {
  const { email, name, isAdmin, hasTotp, checkCount, checkLimit, signedInAt, createdAt } = account;
  return (
    <tr>
      <td>
        <span className="admin-who">
          <b>{name === "" ? email : name}</b>
          {isAdmin && <span className="tag">{accountsWords.admin}</span>}
          {hasTotp && <span className="tag">{accountsWords.twoFactor}</span>}
        </span>
        {name !== "" && <span className="rows-about">{email}</span>}
      </td>
      <td data-label={accountsWords.columns.checks}>{accountsWords.of(checkCount, checkLimit)}</td>
      <td data-label={accountsWords.columns.seen}>
        {signedInAt === null ? accountsWords.never : <Ago at={signedInAt} />}
      </td>
      <td data-label={accountsWords.columns.made}>
        <Day at={createdAt} />
      </td>
      <td className="admin-acts">
        <Acts account={account} onDialog={onDialog} />
      </td>
    </tr>
  );
}

function Acts({ account, onDialog }: { account: AdminAccount; onDialog: (dialog: OpenDialog) => void }) {
  const { email, isAdmin } = account;
  return (
    <Menu
      align="end"
      label={accountsWords.menu(email)}
      trigger={
        <IconButton label={accountsWords.menu(email)}>
          <Icon name="more" />
        </IconButton>
      }
    >
      <MenuItem onPick={() => onDialog({ what: "limit", account })}>{accountsWords.changeLimit}</MenuItem>
      <MenuItem onPick={() => onDialog({ what: "admin", account })}>
        {isAdmin ? accountsWords.removeAdmin : accountsWords.makeAdmin}
      </MenuItem>
    </Menu>
  );
}

// Dialogs: limit and rights of an account, and invitations.

type Props = { account: AdminAccount; onClose: () => void };

function useAccountChange({ account, onClose }: Props) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: AdminAccountBody) => call("updateAccountAsAdmin", { account: account.id, body }),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["admin-accounts"] });
      toast({ text: accountsWords.changed });
      onClose();
    },
  });
}

export function LimitDialog(props: Props) {
  const { account, onClose } = props;
  const [begun] = useState(account.hasOwnLimit ? String(account.checkLimit ?? "") : "");
  const [limit, setLimit] = useState(begun);
  const change = useAccountChange(props);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate({ checkLimit: limit.trim() === "" ? null : Number(limit) });
  };
  return (
    <Dialog
      isOpen
      onClose={onClose}
      isUnsaved={limit !== begun}
      title={accountsWords.limitTitle(account.email)}
      description={accountsWords.limitText}
    >
      <form className="form" onSubmit={submit}>
        <TextField
          label={accountsWords.limit}
          hint={accountsWords.limitHint}
          type="number"
          min={0}
          step={1}
          value={limit}
          onChange={(event) => setLimit(event.target.value)}
          error={change.isError ? errorText(change.error) : null}
        />
        <FormActions act={shared.save} onClose={onClose} isBusy={change.isPending} />
      </form>
    </Dialog>
  );
}

export function AdminDialog(props: Props) {
  const { account, onClose } = props;
  const { email, isAdmin } = account;
  const change = useAccountChange(props);
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={isAdmin ? accountsWords.removeAdminTitle(email) : accountsWords.adminTitle(email)}
      text={isAdmin ? accountsWords.removeAdminText : accountsWords.adminText}
      act={isAdmin ? accountsWords.removeAdmin : accountsWords.makeAdmin}
      isBusy={change.isPending}
      error={change.error}
      onAct={() => change.mutate({ isAdmin: !isAdmin })}
    />
  );
}

type InviteProps = { invitesBy: AdminAccounts["invitesBy"]; onClose: () => void };

export function InviteDialog({ invitesBy, onClose }: InviteProps) {
  const asked = useMutation({
    mutationFn: (email: string) => call("inviteAccount", { body: { email } }),
    onSuccess: ({ link }, email) => {
      if (link !== null) return;
      toast({ text: accountsWords.sent(email) });
      onClose();
    },
  });
  const isMailed = invitesBy === "mail";
  const link = asked.data?.link ?? null;
  if (link !== null)
    return <LinkDialog link={link} text={accountsWords.linkText(asked.variables ?? "")} onClose={onClose} />;
  return (
    <AddressDialog
      title={accountsWords.invite}
      text={isMailed ? accountsWords.inviteByMail : accountsWords.inviteByLink}
      label={accountsWords.email}
      whose="other"
      act={isMailed ? accountsWords.send : accountsWords.make}
      onAct={asked.mutate}
      onClose={onClose}
      isBusy={asked.isPending}
      error={asked.error}
    />
  );
}
