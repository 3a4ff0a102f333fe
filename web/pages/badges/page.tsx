// Badges of a project: choose what, how many states and which format; see it, and copy it.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { BadgesPage as Badges } from "../../../src/contract/web/badges.ts";
import { get } from "../../api/api.ts";
import type { PageProps } from "../../shell/page-address.ts";
import { usePageTitle } from "../../shell/page-title.ts";
import { CodeBlock } from "../../ui/copy.tsx";
import { SelectField } from "../../ui/field.tsx";
import { Queried } from "../../ui/page-state.tsx";
import { badgesWords as words } from "../../words/badges.ts";
import "./page.css";

type Format = keyof typeof words.formats;
const FORMATS = Object.keys(words.formats) as Format[];

export function BadgesPage({ params }: PageProps) {
  const project = params.project ?? "";
  usePageTitle(words.title);
  const query = useQuery({
    queryKey: ["badges", project],
    queryFn: () => get<Badges>(`/projects/${project}/badges`),
  });
  return (
    <>
      <header className="top">
        <h1>{words.title}</h1>
      </header>
      <p className="badges-about">{words.about}</p>
      <Queried query={query}>{(page) => <Chooser badges={page.badges} />}</Queried>
    </>
  );
}

function Chooser({ badges }: { badges: Badges["badges"] }) {
  const [chosen, setChosen] = useState(0);
  const [states, setStates] = useState<"" | "3">("");
  const [format, setFormat] = useState<Format>("svg");
  const badge = badges[chosen];
  if (badge === undefined) return null;
  const key = `${format}${states}` as const;
  return (
    <div className="badges">
      <div className="form badges-form">
        <SelectField
          label={words.what}
          value={chosen}
          onChange={(change) => setChosen(Number(change.target.value))}
        >
          {badges.map(({ tag }, index) => (
            <option key={tag ?? ""} value={index}>
              {tag === null ? words.all : words.tag(tag)}
            </option>
          ))}
        </SelectField>
        <SelectField
          label={words.states}
          value={states}
          onChange={(change) => setStates(change.target.value === "3" ? "3" : "")}
        >
          <option value="">{words.two}</option>
          <option value="3">{words.three}</option>
        </SelectField>
        <SelectField
          label={words.format}
          value={format}
          onChange={(change) => setFormat(change.target.value as Format)}
        >
          {FORMATS.map((one) => (
            <option key={one} value={one}>
              {words.formats[one]}
            </option>
          ))}
        </SelectField>
      </div>
      <Result address={badge[key]} picture={badge[`svg${states}`]} tag={badge.tag} format={format} />
    </div>
  );
}

function Result(props: { address: string; picture: string; tag: string | null; format: Format }) {
  const { address, picture, tag, format } = props;
  const alt = words.alt(tag);
  return (
    <div className="panel badges-result">
      <h2>{words.preview}</h2>
      <img key={picture} src={new URL(picture, location.href).pathname} alt={alt} height={20} />
      <h3>{words.address}</h3>
      <CodeBlock text={address} label={words.address} />
      {format === "svg" && (
        <>
          <h3>{words.markdown}</h3>
          <CodeBlock text={`![${alt}](${address})`} label={words.markdown} />
          <h3>{words.html}</h3>
          <CodeBlock text={`<img src="${address}" alt="${alt}">`} label={words.html} />
        </>
      )}
    </div>
  );
}
