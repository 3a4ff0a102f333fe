// The setup page: from the first admin to the first ping. All steps are visible, and none blocks the next.
import "./welcome.css";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { Link } from "wouter";
import type { ProjectHead } from "../../src/contract/api/boot.ts";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import type {
  AddressReport,
  AddressTest,
  MailTest,
  Setup,
  SetupProblem,
} from "../../src/contract/api/admin.ts";
import { channelName, checkName } from "../../src/contract/api/words.ts";
import { call, errorText } from "../api.ts";
import { boot } from "../boot.ts";
import { pageHref, useCurrentProject, usePageTitle } from "../page-location.ts";
import { Notice } from "../parts/section.tsx";
import { hasArrived, useWaiting, WaitingFor } from "../parts/waiting.tsx";
import { Button, ButtonLink } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { DocsLink, LearnMore } from "../ui/docs-link.tsx";
import { TextField } from "../ui/field.tsx";
import { StateShape } from "../ui/marks.tsx";
import { Queried, Tabs } from "../ui/page-state.tsx";
import { took, welcomeWords } from "../words/welcome.ts";
import { useChannels } from "./use-channels.ts";

export function WelcomePage() {
  usePageTitle(welcomeWords.tab);
  const query = useQuery({ queryKey: ["set-up"], queryFn: ({ signal }) => call("getSetup", {}, signal) });
  return (
    <div className="welcome">
      <header className="top">
        <h1>{welcomeWords.title}</h1>
        <DocsLink to="install" />
      </header>
      <p className="welcome-about">{welcomeWords.about}</p>
      <Queried query={query}>
        {(setUp) => (
          <ol className="steps">
            <Step n={1} state="done" title={welcomeWords.owner.title}>
              <p>
                {welcomeWords.owner.text(boot.account?.email ?? "")}{" "}
                <Link className="link" href={pageHref("profile")}>
                  {welcomeWords.owner.more}
                </Link>
              </p>
            </Step>
            <AddressStep site={setUp.site} />
            <MailStep mail={setUp.mail} />
            <CheckStep />
            <ChannelStep n={5} hasMail={setUp.mail.isConfigured} />
          </ol>
        )}
      </Queried>
    </div>
  );
}

// One step.

export type StepState = "done" | "wrong" | "open";

export function Step(props: { n: number; state: StepState; title: string; children: ReactNode }) {
  const { n, state, title, children } = props;
  return (
    <li className={`step is-${state}`}>
      <span className="step-mark">
        {state === "open" ? (
          <span aria-hidden="true">{n}</span>
        ) : (
          <StateShape state={state === "done" ? "up" : "down"} size={24} label={null} />
        )}
        <span className="sr">{welcomeWords.states[state]}</span>
      </span>
      <div className="step-body">
        <h2>{title}</h2>
        {children}
      </div>
    </li>
  );
}

// Public URL: what the browser uses, what is configured, and whether the server can reach itself.

const addressWords = welcomeWords.address;

export function AddressStep({ site }: { site: Setup["site"] }) {
  const at = location.origin + boot.site.base;
  const report = useQuery({
    queryKey: ["set-up-address"],
    queryFn: ({ signal }) => call("checkAddress", { query: { at } }, signal),
  });
  const test = useQuery({
    queryKey: ["set-up-test"],
    queryFn: ({ signal }) => call("testAddress", {}, signal),
    retry: false,
    refetchOnWindowFocus: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const problems = [...(report.data?.problems ?? []), ...(test.data?.problems ?? [])];
  return (
    <Step n={2} state={stateOf(test.data, problems)} title={addressWords.title}>
      {report.data?.matches === true && <p>{addressWords.matches(report.data.configured)}</p>}
      <Tested test={test} />
      {problems.map((problem) => (
        <ProblemNotice key={problem.text} problem={problem} />
      ))}
      {isLocal(new URL(site.url).hostname) && <p className="hint">{addressWords.local(site.port)}</p>}
      <div className="section-acts">
        <Button
          isBusy={test.isFetching}
          onClick={() => {
            void test.refetch();
            void report.refetch();
          }}
        >
          {addressWords.again}
        </Button>
      </div>
      <ProxyLines address={at} port={site.port} />
      {report.data !== undefined && <Arrived report={report.data} />}
    </Step>
  );
}

function stateOf(test: AddressTest | undefined, problems: readonly SetupProblem[]): StepState {
  if (problems.length > 0) return "wrong";
  return test?.isOurs === true ? "done" : "open";
}

function Tested({ test }: { test: { data: AddressTest | undefined; isFetching: boolean; error: unknown } }) {
  if (test.isFetching) return <p className="muted">{addressWords.testing}</p>;
  if (test.error !== null)
    return (
      <p className="mistake" role="alert">
        {errorText(test.error)}
      </p>
    );
  if (test.data?.isOurs !== true) return null;
  return <p>{addressWords.reached(new URL(test.data.url).origin, took(test.data.tookMs))}</p>;
}

function ProblemNotice({ problem }: { problem: SetupProblem }) {
  return (
    <Notice kind="bad" title={problem.text}>
      <p>
        {problem.advice} <LearnMore to="proxies" />
      </p>
    </Notice>
  );
}

function ProxyLines({ address, port }: { address: string; port: number }) {
  const ends = endsOf(address, port);
  return (
    <details className="step-more">
      <summary>{addressWords.proxy}</summary>
      <Tabs
        label={addressWords.proxy}
        tabs={PROXIES.map((proxy) => ({
          name: proxy,
          label: proxy,
          body: <CodeBlock text={proxyLines(proxy, ends)} label={proxy} />,
        }))}
      />
      <p>{addressWords.proxyText}</p>
      <CodeBlock text={ownLines(ends)} label={addressWords.settings} />
    </details>
  );
}

function Arrived({ report }: { report: AddressReport }) {
  return (
    <details className="step-more">
      <summary>{addressWords.headers}</summary>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{addressWords.header}</th>
            <th scope="col">{addressWords.value}</th>
          </tr>
        </thead>
        <tbody>
          {report.headers.map(({ name, value }) => (
            <tr key={name}>
              <td>
                <code>{name}</code>
              </td>
              <td>{value ?? <span className="muted">{addressWords.missing}</span>}</td>
            </tr>
          ))}
          <tr>
            <td>{addressWords.you}</td>
            <td>{report.remoteAddr}</td>
          </tr>
        </tbody>
      </table>
    </details>
  );
}

// Configuration for reverse proxies.

export const PROXIES = ["Caddy", "nginx", "HAProxy", "Traefik"] as const;
export type Proxy = (typeof PROXIES)[number];

/** The public URL, and where the program listens. */
export type Ends = { name: string; path: string; upstream: string };

const EXAMPLE_NAME = "overdue.example.com";

/** From the URL in the browser, and the port that the program listens on. A local address is no public name. */
export function endsOf(address: string, port: number): Ends {
  const url = URL.parse(address);
  const upstream = `127.0.0.1:${port}`;
  if (url === null) return { name: EXAMPLE_NAME, path: "", upstream };
  const path = url.pathname.replace(/\/$/, "");
  return { name: isLocal(url.hostname) ? EXAMPLE_NAME : url.hostname, path, upstream };
}

/** Whether only this machine can use an address. */
export function isLocal(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}

const LINES: Readonly<Record<Proxy, (ends: Ends) => string>> = {
  Caddy: ({ name, path, upstream }) =>
    path === ""
      ? `${name} {\n\treverse_proxy ${upstream}\n}`
      : `${name} {\n\thandle ${path}/* {\n\t\treverse_proxy ${upstream}\n\t}\n}`,
  nginx: ({ name, path, upstream }) => `server {
    listen 443 ssl;
    server_name ${name};
    # Add ssl_certificate and ssl_certificate_key here.

    location ${path}/ {
        proxy_pass http://${upstream};
        proxy_http_version 1.1;
        proxy_set_header Host $host;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Proto $scheme;
    }
}`,
  // It passes Host on unchanged. A path is only in the rule: we expect it in front of every URL.
  HAProxy: ({ name, path, upstream }) => `frontend https
    bind :443 ssl crt /etc/haproxy/certs/
    mode http
    option forwardfor
    http-request set-header X-Forwarded-Proto https
    use_backend overdue if { hdr(host) -i ${name} }${path === "" ? "" : ` { path_beg ${path}/ }`}

backend overdue
    mode http
    # Longer than the heartbeat interval of the live updates.
    timeout server 1m
    server overdue ${upstream}`,
  Traefik: ({ name, path, upstream }) => `http:
  routers:
    overdue:
      rule: "Host(\`${name}\`)${path === "" ? "" : ` && PathPrefix(\`${path}\`)`}"
      entryPoints: [websecure]
      tls: { certResolver: letsencrypt }
      service: overdue
  services:
    overdue:
      loadBalancer:
        servers:
          - url: "http://${upstream}"`,
};

export function proxyLines(proxy: Proxy, ends: Ends): string {
  return LINES[proxy](ends);
}

/** The settings of Overdue, for every proxy. */
export function ownLines({ name, path }: Ends): string {
  return `OVERDUE_SITE_URL=https://${name}${path}\nOVERDUE_TRUSTED_PROXIES=127.0.0.0/8, ::1/128`;
}

/** For sending mail. */
export const MAIL_LINES = `OVERDUE_SMTP_HOST=smtp.example.com
OVERDUE_SMTP_PORT=465
OVERDUE_SMTP_TLS=tls
OVERDUE_SMTP_USER=overdue@example.com
OVERDUE_SMTP_PASSWORD=…
OVERDUE_MAIL_FROM=Overdue <overdue@example.com>`;

// Email: whether it is configured, and a test that shows the reply of the mail server.

const mailWords = welcomeWords.mail;

export function MailStep({ mail }: { mail: Setup["mail"] }) {
  const [to, setTo] = useState(boot.account?.email ?? "");
  const test = useMutation({
    mutationFn: () => call("testMail", { body: { to: to.trim() } }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    test.mutate();
  };
  const sent = test.data?.isSent;
  return (
    <Step n={3} state={sent === undefined ? "open" : sent ? "done" : "wrong"} title={mailWords.title}>
      {mail.isConfigured ? (
        <>
          <p>{mailWords.on(mail.host ?? "", mail.from ?? "")}</p>
          <form className="section-line" onSubmit={submit}>
            <TextField
              label={mailWords.to}
              type="email"
              required
              autoComplete="email"
              value={to}
              onChange={(event) => setTo(event.target.value)}
              error={test.isError ? errorText(test.error) : null}
            />
            <Button type="submit" isBusy={test.isPending}>
              {mailWords.send}
            </Button>
          </form>
          {test.data !== undefined && <Outcome outcome={test.data} />}
        </>
      ) : (
        <>
          <p>
            {mailWords.off} <LearnMore to="email" />
          </p>
          <details className="step-more">
            <summary>{mailWords.how}</summary>
            <p>{mailWords.where}</p>
            <CodeBlock text={MAIL_LINES} label={mailWords.settings} />
          </details>
        </>
      )}
      {sent !== true && <p className="hint">{mailWords.skip}</p>}
    </Step>
  );
}

function Outcome({ outcome }: { outcome: MailTest }) {
  const { isSent, text, reply, code, tookMs } = outcome;
  const title = isSent ? mailWords.sent(took(tookMs)) : mailWords.refused(took(tookMs));
  return (
    <Notice kind={isSent ? "good" : "bad"} title={title}>
      <p>{text}</p>
      {reply !== null && reply !== "" && (
        <div className="field">
          <h3>{mailWords.answer}</h3>
          <CodeBlock
            text={code === null || reply.startsWith(String(code)) ? reply : `${code} ${reply}`}
            label={mailWords.answer}
          />
        </div>
      )}
    </Notice>
  );
}

// Notifications: an email channel for the owner, or another channel.

const channelWords = welcomeWords.channel;

export function ChannelStep({ n, hasMail }: { n: number; hasMail: boolean }) {
  const project = useCurrentProject();
  if (project === null) {
    return (
      <Step n={n} state="open" title={channelWords.title}>
        <p>{channelWords.noProject}</p>
      </Step>
    );
  }
  return <ChannelInProject n={n} project={project} hasMail={hasMail} />;
}

function ChannelInProject({ n, project, hasMail }: { n: number; project: ProjectHead; hasMail: boolean }) {
  const query = useChannels(project.id);
  const hasAny = (query.data?.length ?? 0) > 0;
  const isNotified = query.data?.some(({ notifies }) => notifies) === true;
  const mayEdit = project.may.includes("editChannels");
  return (
    <Step n={n} state={isNotified ? "done" : hasAny ? "wrong" : "open"} title={channelWords.title}>
      <Queried query={query} rows={2}>
        {(channels) =>
          isNotified ? (
            <p>{channelWords.notified(channels.filter(({ notifies }) => notifies).map(channelName))}</p>
          ) : hasAny ? (
            <p>{channelWords.notNotified(channels.map(channelName))}</p>
          ) : mayEdit ? (
            <NoChannel project={project.id} hasMail={hasMail} />
          ) : (
            <p>{channelWords.mayNot}</p>
          )
        }
      </Queried>
      {hasAny && (
        <ButtonLink href={pageHref("channels", { project: project.id })}>
          {channelWords.toChannels}
        </ButtonLink>
      )}
    </Step>
  );
}

function NoChannel({ project, hasMail }: { project: string; hasMail: boolean }) {
  const client = useQueryClient();
  const email = boot.account?.email ?? "";
  const made = useMutation({
    mutationFn: () =>
      call("createChannel", { project, body: { kind: "email", config: { value: email }, checks: "*" } }),
    // The previous step shows whether a channel is notified.
    onSuccess: () =>
      Promise.all(
        [["channels", project], ["waiting"]].map((queryKey) => client.invalidateQueries({ queryKey })),
      ),
  });
  return (
    <>
      <p>{hasMail ? channelWords.text : channelWords.noMail}</p>
      <div className="section-acts">
        {hasMail && (
          <Button kind="primary" isBusy={made.isPending} onClick={() => made.mutate()}>
            {channelWords.mail(email)}
          </Button>
        )}
        <ButtonLink href={`${pageHref("channels", { project })}?open=gallery`}>
          {hasMail ? channelWords.other : channelWords.choose}
        </ButtonLink>
      </div>
      {made.isError && (
        <p className="mistake" role="alert">
          {errorText(made.error)}
        </p>
      )}
      <p className="hint">{channelWords.skip}</p>
    </>
  );
}

// The first check: a name, its ping command, and the first ping when it arrives.

const checkWords = welcomeWords.check;

export function CheckStep() {
  const project = useCurrentProject();
  if (project === null) {
    return (
      <Step n={4} state="open" title={checkWords.title}>
        <p>{checkWords.noProject}</p>
        <ButtonLink href={pageHref("projects")}>{checkWords.projects}</ButtonLink>
      </Step>
    );
  }
  return <CheckInProject project={project} />;
}

function CheckInProject({ project }: { project: ProjectHead }) {
  const [made, setMade] = useState<CheckRow | null>(null);
  const query = useQuery({
    queryKey: ["set-up-checks", project.id],
    queryFn: () => call("getOverview", { project: project.id }),
  });
  // Prefer a check that was never pinged.
  const silent = query.data?.checks.find(({ lastPingAt }) => lastPingAt === null) ?? null;
  const check = made ?? silent;
  if (check !== null) return <Awaited check={check} project={project} />;
  const total = query.data?.total ?? 0;
  return (
    <Step n={4} state={total > 0 ? "done" : "open"} title={checkWords.title}>
      <Queried query={query} rows={2}>
        {() => (
          <>
            <p>{total > 0 ? checkWords.monitored(total) : checkWords.text}</p>
            {project.may.includes("editChecks") ? (
              <NewCheck project={project.id} isMore={total > 0} onMade={setMade} />
            ) : (
              <p>{checkWords.mayNot}</p>
            )}
            {total > 0 && (
              <ButtonLink href={pageHref("checks", { project: project.id })} kind="primary">
                {checkWords.toChecks}
              </ButtonLink>
            )}
          </>
        )}
      </Queried>
    </Step>
  );
}

function NewCheck(props: { project: string; isMore: boolean; onMade: (check: CheckRow) => void }) {
  const [name, setName] = useState("");
  const made = useMutation({
    mutationFn: () => call("createCheck", { project: props.project, body: { name: name.trim() } }),
    onSuccess: props.onMade,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    made.mutate();
  };
  return (
    <form className="section-line" onSubmit={submit}>
      <TextField
        label={checkWords.name}
        placeholder={checkWords.placeholder}
        value={name}
        required
        autoComplete="off"
        dir="auto"
        onChange={(event) => setName(event.target.value)}
        error={made.isError ? errorText(made.error) : null}
      />
      <Button kind={props.isMore ? "quiet" : "primary"} type="submit" isBusy={made.isPending}>
        {props.isMore ? checkWords.another : checkWords.create}
      </Button>
    </form>
  );
}

function Awaited({ check, project }: { check: CheckRow; project: ProjectHead }) {
  const { data } = useWaiting(check.id);
  const isHere = hasArrived(data);
  return (
    <Step n={4} state={isHere ? "done" : "open"} title={`${checkWords.title}: ${checkName(check)}`}>
      <WaitingFor check={check.id} project={project.id} />
      {isHere && (
        <ButtonLink href={pageHref("checks", { project: project.id })}>{checkWords.toChecks}</ButtonLink>
      )}
    </Step>
  );
}
