// The bin: checks that were deleted in the last days, with a way back for each.
import { checkName } from "../../../src/contract/web/list-words.ts";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { DeletedRow } from "../../../src/contract/web/check-row.ts";
import { get } from "../../api/api.ts";
import { Button } from "../../ui/button.tsx";
import { Drawer } from "../../ui/dialog.tsx";
import { Queried } from "../../ui/page-state.tsx";
import { Ago, Until } from "../../ui/when.tsx";
import { actionWords } from "../../words/check-actions.ts";
import { restoreCheck } from "./actions.ts";

type Props = { project: string; mayEdit: boolean; isOpen: boolean; onClose: () => void };

export function DeletedChecks({ project, mayEdit, isOpen, onClose }: Props) {
  const { title, about, none, back } = actionWords.deletedList;
  const cache = useQueryClient();
  const queryKey = ["deleted", project];
  const query = useQuery({
    queryKey,
    queryFn: () => get<DeletedRow[]>(`/projects/${project}/deleted`),
    enabled: isOpen,
    staleTime: 0,
  });
  const takeBack = async (row: DeletedRow) => {
    await restoreCheck(project, row);
    await cache.invalidateQueries({ queryKey });
  };
  return (
    <Drawer isOpen={isOpen} onClose={onClose} title={title} description={about}>
      <Queried query={query} rows={3}>
        {(rows) =>
          rows.length === 0 ? (
            <p className="muted">{none}</p>
          ) : (
            <ul className="deleted">
              {rows.map((row) => (
                <li key={row.id}>
                  <span className="deleted-name">
                    <b className="clip">{checkName(row)}</b>
                    <span className="muted">
                      <Ago at={row.deletedAt} /> · {actionWords.deletedList.gone("")}
                      <Until at={row.goneAt} />
                    </span>
                  </span>
                  {mayEdit && <Button onClick={() => void takeBack(row)}>{back}</Button>}
                </li>
              ))}
            </ul>
          )
        }
      </Queried>
    </Drawer>
  );
}
