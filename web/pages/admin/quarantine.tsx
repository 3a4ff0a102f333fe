import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { AdminState, QuarantineRetried } from "../../../src/contract/web/admin.ts";
import { send } from "../../api/api.ts";
import { Section } from "../../parts/section.tsx";
import { Button } from "../../ui/button.tsx";
import { toast, toastTrouble } from "../../ui/toast.tsx";
import { When } from "../../ui/when.tsx";
import { adminWords } from "../../words/admin.ts";

const words = adminWords.quarantine;

/** Pings that could not be recorded, with the reason, and a way to try again. */
export function Quarantine({ quarantined }: { quarantined: AdminState["quarantined"] }) {
  const client = useQueryClient();
  const retry = useMutation({
    mutationFn: () => send<QuarantineRetried>("POST", "/admin/quarantine/retry"),
    onSuccess: (retried) => {
      void client.invalidateQueries({ queryKey: ["admin"] });
      toast({ text: words.retried(retried) });
    },
    onError: toastTrouble,
  });
  const { count, pings } = quarantined;
  if (count === 0) return null;
  const { columns } = words;
  return (
    <Section title={words.title} about={words.about}>
      <table className="table admin-stacked">
        <caption>{words.caption}</caption>
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
              <td data-label={columns.check}>{check ?? words.unknownCheck}</td>
              <td data-label={columns.reason}>{reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {count > pings.length && <p className="muted">{words.more(count - pings.length)}</p>}
      <Button isBusy={retry.isPending} onClick={() => retry.mutate()}>
        {words.retry}
      </Button>
    </Section>
  );
}
