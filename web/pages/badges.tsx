// The badges page: choose a subject, the number of states and a format; preview and copy the badge.
import "./badges.css";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useSearchParams } from "wouter";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import type { BadgeList } from "../../src/contract/api/checks.ts";
import { checkName, formatCount } from "../../src/contract/api/words.ts";
import { call } from "../api.ts";
import { nameKey, useAllRows } from "../live/checks-store.ts";
import { type PageProps, usePageTitle } from "../page-location.ts";
import { CodeBlock } from "../ui/copy.tsx";
import { DocsLink } from "../ui/docs-link.tsx";
import { SelectField } from "../ui/field.tsx";
import { Queried } from "../ui/page-state.tsx";
import { WallBoards } from "./board-links.tsx";

export const badgesWords = {
  title: "Status badges",
  about:
    "A badge is a public image that shows the status of your checks. Anyone with its URL can see the status, but nothing else.",
  cut: (count: number) =>
    `This list shows the first ${formatCount(count)} tags of the project. Use the API to get badges for the rest.`,
  what: "Show status of",
  all: "All checks",
  tag: (name: string) => `Tag: ${name}`,
  one: "One check",
  check: "Check",
  states: "Statuses",
  two: "Up and down",
  three: "Up, late and down",
  format: "Format",
  formats: { svg: "Image (SVG)", json: "JSON", shields: "Shields.io endpoint" },
  preview: "Preview",
  address: "URL",
  markdown: "Markdown",
  html: "HTML",
  alt: (subject: string | null) => (subject === null ? "Status of all checks" : `Status of ${subject}`),
} as const;

type Format = keyof typeof badgesWords.formats;
/** The choice of a single check, instead of the index of a badge for several checks. */
const ONE_CHECK = "check";
type Chosen = number | typeof ONE_CHECK;
/** The browser renders each of them; the badge of any other check is linked from its page. */
const CHECKS_LISTED_MAX = 1_000;
const FORMATS = Object.keys(badgesWords.formats) as Format[];

export function BadgesPage({ params }: PageProps) {
  const project = params.project ?? "";
  usePageTitle(badgesWords.title);
  const query = useQuery({
    queryKey: ["badges", project],
    queryFn: () => call("listBadges", { project }),
  });
  return (
    <>
      <header className="top">
        <h1>{badgesWords.title}</h1>
        <DocsLink to="badges" />
      </header>
      <p className="badges-about">{badgesWords.about}</p>
      <Queried query={query}>
        {(page) => (
          <>
            {page.isTruncated && <p className="badges-about">{badgesWords.cut(page.badges.length - 1)}</p>}
            <Chooser project={project} badges={page.badges} />
          </>
        )}
      </Queried>
      <WallBoards project={project} />
    </>
  );
}

function Chooser({ project, badges }: { project: string; badges: BadgeList["badges"] }) {
  const [search] = useSearchParams();
  // The page of a check links here.
  const [asked] = useState(search.get("check"));
  const [chosen, setChosen] = useState<Chosen>(asked === null ? 0 : ONE_CHECK);
  const [states, setStates] = useState<"" | "3">("");
  const [format, setFormat] = useState<Format>("svg");
  const one = useOneCheck(project, { asked, isWanted: chosen === ONE_CHECK });
  const badge = chosen === ONE_CHECK ? null : badges[chosen];
  const addresses = badge ?? one.addresses;
  return (
    <div className="badges">
      <div className="form badges-form">
        <SelectField
          label={badgesWords.what}
          value={chosen}
          onChange={({ target }) => setChosen(target.value === ONE_CHECK ? ONE_CHECK : Number(target.value))}
        >
          {badges.map(({ tag }, index) => (
            <option key={tag ?? ""} value={index}>
              {tag === null ? badgesWords.all : badgesWords.tag(tag)}
            </option>
          ))}
          <option value={ONE_CHECK}>{badgesWords.one}</option>
        </SelectField>
        {chosen === ONE_CHECK && <CheckChoice {...one} />}
        <SelectField
          label={badgesWords.states}
          value={states}
          onChange={(change) => setStates(change.target.value === "3" ? "3" : "")}
        >
          <option value="">{badgesWords.two}</option>
          <option value="3">{badgesWords.three}</option>
        </SelectField>
        <SelectField
          label={badgesWords.format}
          value={format}
          onChange={(change) => setFormat(change.target.value as Format)}
        >
          {FORMATS.map((name) => (
            <option key={name} value={name}>
              {badgesWords.formats[name]}
            </option>
          ))}
        </SelectField>
      </div>
      {addresses !== undefined && (
        <Result
          address={addresses[`${format}${states}`]}
          picture={addresses[`svg${states}`]}
          subject={badge === null ? one.name : (badge?.tag ?? null)}
          format={format}
        />
      )}
    </div>
  );
}

/** The checks that a badge can show, and the URLs of the badge of the chosen one. */
function useOneCheck(project: string, { asked, isWanted }: { asked: string | null; isWanted: boolean }) {
  const all = useAllRows(isWanted ? project : null);
  const rows = useMemo(() => {
    const sorted = all.toSorted((a, b) => (nameKey(a) < nameKey(b) ? -1 : 1));
    return sorted.filter(({ id }, index) => index < CHECKS_LISTED_MAX || id === asked);
  }, [all, asked]);
  const [picked, setPicked] = useState(asked);
  const id = picked ?? rows[0]?.id ?? null;
  const { data } = useQuery({
    queryKey: ["badge", id],
    queryFn: () => call("getCheckBadge", { check: id ?? "" }),
    enabled: isWanted && id !== null,
  });
  const row = rows.find((one) => one.id === id);
  return { rows, id, name: row === undefined ? "" : checkName(row), addresses: data, onPick: setPicked };
}

type ChoiceProps = { rows: readonly CheckRow[]; id: string | null; onPick: (id: string) => void };

function CheckChoice({ rows, id, onPick }: ChoiceProps) {
  return (
    <SelectField label={badgesWords.check} value={id ?? ""} onChange={({ target }) => onPick(target.value)}>
      {rows.map((row) => (
        <option key={row.id} value={row.id}>
          {checkName(row)}
        </option>
      ))}
    </SelectField>
  );
}

function Result(props: { address: string; picture: string; subject: string | null; format: Format }) {
  const { address, picture, subject, format } = props;
  const alt = badgesWords.alt(subject);
  return (
    <div className="panel badges-result">
      <h2>{badgesWords.preview}</h2>
      <img key={picture} src={new URL(picture, location.href).pathname} alt={alt} height={20} />
      <h3>{badgesWords.address}</h3>
      <CodeBlock text={address} label={badgesWords.address} />
      {format === "svg" && (
        <>
          <h3>{badgesWords.markdown}</h3>
          <CodeBlock
            text={`![${alt.replaceAll(/[[\]\\]/g, "\\$&")}](${address})`}
            label={badgesWords.markdown}
          />
          <h3>{badgesWords.html}</h3>
          <CodeBlock text={`<img src="${address}" alt="${inAttribute(alt)}">`} label={badgesWords.html} />
        </>
      )}
    </div>
  );
}

/** The name of a check can be any text. */
function inAttribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}
