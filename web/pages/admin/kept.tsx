// What is stored, for how long, and how large it is. The bounds are the server's; here they are only put into words.
import { useQuery } from "@tanstack/react-query";
import type { AdminKept, KeptBound } from "../../../src/contract/web/admin.ts";
import { formatCount } from "../../../src/contract/web/list-words.ts";
import { get } from "../../api/api.ts";
import { Section } from "../../parts/section.tsx";
import { Queried } from "../../ui/page-state.tsx";
import { adminWords, KEPT_WORDS } from "../../words/admin.ts";
import { formatBytes } from "../../words/number.ts";

const words = adminWords.kept;

/** Asked once for each visit: sizes change slowly, and looking at them touches every table. */
export function Kept() {
  const query = useQuery({ queryKey: ["admin-kept"], queryFn: () => get<AdminKept>("/admin/kept") });
  return (
    <Section title={words.title} about={words.about}>
      <Queried query={query}>{(answer) => <Table answer={answer} />}</Queried>
    </Section>
  );
}

function Table({ answer }: { answer: AdminKept }) {
  const { columns } = words;
  return (
    <>
      <table className="table admin-kept" aria-label={words.list}>
        <thead>
          <tr>
            <th scope="col">{columns.what}</th>
            <th scope="col">{columns.bound}</th>
            <th scope="col">{columns.rows}</th>
            <th scope="col">{columns.bytes}</th>
          </tr>
        </thead>
        <tbody>
          {answer.kept.map(({ what, bound, rowCount, bytes }) => (
            <tr key={what}>
              <th scope="row">{KEPT_WORDS[what]}</th>
              <td>{boundText(bound)}</td>
              <td>{rowCount === null ? words.none : formatCount(rowCount)}</td>
              <td>{formatBytes(bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {answer.hasObjectStore && <p className="rows-none">{words.objects}</p>}
    </>
  );
}

function boundText(bound: KeptBound | null): string {
  if (bound === null) return words.each;
  if (bound.by === "perCheck") return words.perCheck(bound.count);
  return bound.by === "days" ? words.days(bound.days) : words.deletion(bound.days);
}
