// How a job sends its signals: lines to copy for where it runs, with this check's own addresses filled in.
import { useState } from "react";
import type { CheckPage } from "../../../../src/contract/web/check-page.ts";
import { CodeBlock, CopyButton } from "../../../ui/copy.tsx";
import { Icon } from "../../../ui/icon.tsx";
import { Menu, MenuChoice } from "../../../ui/menu.tsx";
import { signalWords as words } from "../../../words/check/signal.ts";
import { SNIPPETS, snippetText } from "../snippets/all.ts";
import { factsOf } from "../snippets/facts.ts";
import { type Snippet, type Variant, VARIANTS } from "../snippets/snippet.ts";

const FIRST = ["crontab", "systemd", "python", "kubernetes"];
const REMEMBERED = "overdue.snippet";

export function SendSignal({ page }: { page: CheckPage }) {
  const [name, setName] = useState(() => localStorage.getItem(REMEMBERED) ?? "crontab");
  const [wanted, setWanted] = useState<Variant>("success");
  const [bySlug, setBySlug] = useState(false);
  const facts = factsOf(page, { bySlug });
  const offered = SNIPPETS.filter((snippet) => variantsOf(snippet).length > 0);
  const snippet = offered.find((one) => one.name === name) ?? offered[0];
  if (snippet === undefined) return null;
  const variants = variantsOf(snippet);
  const variant = variants.includes(wanted) ? wanted : (variants[0] ?? "success");
  const choose = (chosen: string) => {
    setName(chosen);
    localStorage.setItem(REMEMBERED, chosen);
  };
  function variantsOf(one: Snippet): Variant[] {
    return VARIANTS.filter((kind) => snippetText(one, kind, facts) !== null);
  }
  return (
    <section className="panel check-signal" aria-labelledby="check-signal">
      <h2 id="check-signal">{words.title}</h2>
      <Languages offered={offered} chosen={snippet} onChoose={choose} />
      <div className="check-switch" role="group" aria-label={words.variant}>
        {variants.map((kind) => (
          <button key={kind} type="button" aria-pressed={kind === variant} onClick={() => setWanted(kind)}>
            {words.variants[kind]}
          </button>
        ))}
      </div>
      <CodeBlock text={snippetText(snippet, variant, facts) ?? ""} label={snippet.label} />
      {snippet.note !== undefined && <p className="hint">{snippet.note}</p>}
      <Addresses page={page} bySlug={bySlug} onBySlug={setBySlug} />
    </section>
  );
}

type LanguagesProps = { offered: readonly Snippet[]; chosen: Snippet; onChoose: (name: string) => void };

/** The four that most jobs need, the chosen one, and the rest in a menu. */
function Languages({ offered, chosen, onChoose }: LanguagesProps) {
  const first = offered.filter(({ name }) => FIRST.includes(name));
  const shown = first.includes(chosen) ? first : [...first.slice(0, 3), chosen];
  return (
    <div className="check-languages" role="group" aria-label={words.languages}>
      {shown.map(({ name, label }) => (
        <button key={name} type="button" aria-pressed={name === chosen.name} onClick={() => onChoose(name)}>
          {label}
        </button>
      ))}
      <Menu
        align="end"
        label={words.languages}
        trigger={
          <button type="button" className="check-languages-more">
            {words.more}
            <Icon name="down" size={12} />
          </button>
        }
      >
        {offered.map(({ name, label }) => (
          <MenuChoice key={name} isChosen={name === chosen.name} onPick={() => onChoose(name)}>
            {label}
          </MenuChoice>
        ))}
      </Menu>
    </div>
  );
}

type AddressProps = { page: CheckPage; bySlug: boolean; onBySlug: (bySlug: boolean) => void };

function Addresses({ page: { addresses }, bySlug, onBySlug }: AddressProps) {
  const { url, slugUrl, mail } = addresses;
  const shownUrl = bySlug && slugUrl !== null ? slugUrl : url;
  return (
    <dl className="check-addresses">
      <div>
        <dt>
          {words.url}
          {slugUrl !== null && (
            <select
              className="select-bare check-by"
              aria-label={words.by}
              value={bySlug ? "slug" : "uuid"}
              onChange={(event) => onBySlug(event.target.value === "slug")}
            >
              <option value="uuid">{words.byUuid}</option>
              <option value="slug">{words.bySlug}</option>
            </select>
          )}
        </dt>
        <dd>
          <code>{shownUrl}</code>
          <CopyButton text={shownUrl} />
        </dd>
        <dd className="hint">{words.paths}</dd>
      </div>
      {mail !== null && (
        <div>
          <dt>{words.mail}</dt>
          <dd>
            <code>{mail}</code>
            <CopyButton text={mail} />
          </dd>
        </div>
      )}
    </dl>
  );
}
