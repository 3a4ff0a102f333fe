// The public address: what the browser uses against what is set, and the server's call to itself. With the lines for
// a proxy in front.
import { useQuery } from "@tanstack/react-query";
import type { AddressReport, AddressTest, Problem, SetUp } from "../../../src/contract/web/set-up.ts";
import { get, send, troubleText } from "../../api/api.ts";
import { boot } from "../../boot/boot.ts";
import { Notice } from "../../parts/section.tsx";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { took, welcomeWords } from "../../words/welcome.ts";
import { endsOf, isLocal, ownLines, PROXIES, proxyLines } from "./proxy-lines.ts";
import { Step, type StepState } from "./step.tsx";

const words = welcomeWords.address;

export function AddressStep({ site }: { site: SetUp["site"] }) {
  const at = location.origin + boot.site.base;
  const report = useQuery({
    queryKey: ["set-up-address"],
    queryFn: () => get<AddressReport>("/set-up/address", { at }),
  });
  const test = useQuery({
    queryKey: ["set-up-test"],
    queryFn: () => send<AddressTest>("POST", "/set-up/address-test", {}),
    retry: false,
    refetchOnWindowFocus: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const problems = [...(report.data?.problems ?? []), ...(test.data?.problems ?? [])];
  return (
    <Step n={2} state={stateOf(test.data, problems)} title={words.title}>
      {report.data?.agrees === true && <p>{words.agrees(report.data.set)}</p>}
      <Tested test={test} />
      {problems.map((problem) => (
        <ProblemNotice key={problem.text} problem={problem} />
      ))}
      {isLocal(new URL(site.url).hostname) && <p className="hint">{words.local(site.port)}</p>}
      <div className="section-acts">
        <Button
          isBusy={test.isFetching}
          onClick={() => {
            void test.refetch();
            void report.refetch();
          }}
        >
          {words.again}
        </Button>
      </div>
      <ProxyLines address={at} port={site.port} />
      {report.data !== undefined && <Arrived report={report.data} />}
    </Step>
  );
}

function stateOf(test: AddressTest | undefined, problems: readonly Problem[]): StepState {
  if (problems.length > 0) return "wrong";
  return test?.isOurs === true ? "done" : "open";
}

function Tested({ test }: { test: { data: AddressTest | undefined; isFetching: boolean; error: unknown } }) {
  if (test.isFetching) return <p className="muted">{words.testing}</p>;
  if (test.error !== null)
    return (
      <p className="mistake" role="alert">
        {troubleText(test.error)}
      </p>
    );
  if (test.data?.isOurs !== true) return null;
  return <p>{words.reached(new URL(test.data.url).origin, took(test.data.tookMs))}</p>;
}

function ProblemNotice({ problem }: { problem: Problem }) {
  return (
    <Notice kind="bad" title={problem.text}>
      <p>{problem.advice}</p>
    </Notice>
  );
}

function ProxyLines({ address, port }: { address: string; port: number }) {
  const ends = endsOf(address, port);
  return (
    <details className="step-more">
      <summary>{words.proxy}</summary>
      <Tabs
        label={words.proxy}
        tabs={PROXIES.map((proxy) => ({
          name: proxy,
          label: proxy,
          body: <CodeBlock text={proxyLines(proxy, ends)} label={proxy} />,
        }))}
      />
      <p>{words.proxyText}</p>
      <CodeBlock text={ownLines(ends)} label={words.settings} />
    </details>
  );
}

function Arrived({ report }: { report: AddressReport }) {
  return (
    <details className="step-more">
      <summary>{words.headers}</summary>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{words.header}</th>
            <th scope="col">{words.value}</th>
          </tr>
        </thead>
        <tbody>
          {report.headers.map(({ name, value }) => (
            <tr key={name}>
              <td>
                <code>{name}</code>
              </td>
              <td>{value ?? <span className="muted">{words.missing}</span>}</td>
            </tr>
          ))}
          <tr>
            <td>{words.you}</td>
            <td>{report.remoteAddr}</td>
          </tr>
        </tbody>
      </table>
    </details>
  );
}
