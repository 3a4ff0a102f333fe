// The aliases of a check: further addresses whose requests are its pings. Shown only if there are any.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { CheckAlias } from "../../src/contract/api/near-misses.ts";
import { call } from "../api.ts";
import { Button } from "../ui/button.tsx";
import { toast, toastError } from "../ui/toast.tsx";
import { aliasWords as words } from "../words/near-misses.ts";

export function Aliases({ check, mayEdit }: { check: string; mayEdit: boolean }) {
  const client = useQueryClient();
  const queryKey = ["aliases", check];
  const { data } = useQuery({ queryKey, queryFn: ({ signal }) => call("listAliases", { check }, signal) });
  const [busy, setBusy] = useState<number | null>(null);
  const remove = async ({ id, address }: CheckAlias) => {
    setBusy(id);
    try {
      await call("deleteAlias", { check, alias: id });
      await client.invalidateQueries({ queryKey });
      toast({ text: words.removed(address) });
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(null);
    }
  };
  if (data === undefined || data.aliases.length === 0) return null;
  return (
    <section className="panel" aria-labelledby="check-aliases">
      <h2 id="check-aliases">{words.title}</h2>
      <p className="hint">{words.text}</p>
      <ul className="check-aliases">
        {data.aliases.map((alias) => (
          <li key={alias.id}>
            <code>{alias.address}</code>
            {mayEdit && (
              <Button
                kind="bare"
                isBusy={busy === alias.id}
                aria-label={words.removeLong(alias.address)}
                onClick={() => void remove(alias)}
              >
                {words.remove}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
