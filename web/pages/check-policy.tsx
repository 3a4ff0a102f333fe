// The notification policy of a check, and the form to edit it. The form is loaded on demand.
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useId, useState } from "react";
import type { CheckPage } from "../../src/contract/api/check-page.ts";
import type { ReplayRequest } from "../../src/contract/api/history.ts";
import type { CheckPolicy, CheckPolicyChange } from "../../src/contract/api/policies.ts";
import { checkName } from "../../src/contract/api/words.ts";
import { call, errorText, refreshCheck } from "../api.ts";
import { useAllRows } from "../live/checks-store.ts";
import { CheckChoice } from "../parts/check-choice.tsx";
import { useDebounced } from "../parts/hooks.ts";
import { fieldOf, PolicyFields, policyChange, PolicyTrouble, withChange } from "../parts/policy-fields.tsx";
import { Button } from "../ui/button.tsx";
import { Drawer } from "../ui/dialog.tsx";
import { Queried } from "../ui/page-state.tsx";
import { toast } from "../ui/toast.tsx";
import { inheritedText, policyWords as words } from "../words/policy.ts";
import { replayWords } from "../words/schedule.ts";
import { words as shared } from "../words/shared.ts";
import { ReplayOutcome } from "./check-edit.tsx";
import { useCheckPolicy } from "./use-check.ts";

type Props = { page: CheckPage; onClose: () => void };

export function PolicyDrawer({ page, onClose }: Props) {
  const query = useCheckPolicy(page.row.id);
  const [isUnsaved, setUnsaved] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const formId = useId();
  return (
    <Drawer
      isOpen
      onClose={onClose}
      isUnsaved={isUnsaved}
      title={words.title(checkName(page.row))}
      description={words.about}
      docs="alerts"
      footer={
        <>
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button kind="primary" type="submit" form={formId} isBusy={isBusy} disabled={!isUnsaved}>
            {shared.save}
          </Button>
        </>
      }
    >
      <Queried query={query}>
        {(policy) => (
          <PolicyForm {...{ page, policy, formId, onClose }} onUnsaved={setUnsaved} onBusy={setBusy} />
        )}
      </Queried>
    </Drawer>
  );
}

type FormProps = Props & {
  policy: CheckPolicy;
  formId: string;
  onUnsaved: (isUnsaved: boolean) => void;
  onBusy: (isBusy: boolean) => void;
};

function PolicyForm({ page, policy, formId, onClose, onUnsaved, onBusy }: FormProps) {
  // The policy when the form was opened, so that changes of others are not overwritten.
  const [{ own, inherited, origins, version }] = useState(policy);
  const { dependsOn: parents, ...before } = own;
  const [form, setForm] = useState(before);
  const [dependsOn, setDependsOn] = useState(parents);
  const [trouble, setTrouble] = useState<unknown>(null);
  const client = useQueryClient();
  const { id, name } = page.row;
  const rows = useAllRows(page.projectId).filter((row) => row.id !== id);
  const isOther = JSON.stringify(dependsOn.toSorted()) !== JSON.stringify(parents.toSorted());
  const change = { ...policyChange(before, form), ...(isOther && { dependsOn }) };
  const back = { ...policyChange(form, before), ...(isOther && { dependsOn: parents }) };
  const isChanged = Object.keys(change).length > 0;
  useEffect(() => onUnsaved(isChanged), [isChanged, onUnsaved]);
  const save = async () => {
    onBusy(true);
    try {
      const saved = await call("updateCheckPolicy", { check: id, body: change, ifMatch: version });
      const undo = async () => {
        await call("updateCheckPolicy", { check: id, body: back, ifMatch: saved.version });
        await refreshCheck(client, id);
      };
      await refreshCheck(client, id);
      toast({ text: words.saved(checkName({ name })), undo });
      onClose();
    } catch (error) {
      setTrouble(error);
    } finally {
      onBusy(false);
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void save();
  };
  const field = fieldOf(trouble);
  return (
    <form id={formId} className="form" onSubmit={submit} noValidate>
      <PolicyTrouble trouble={trouble} />
      <PolicyReplay id={id} change={change} />
      <PolicyFields
        policy={form}
        set={(next) => {
          setTrouble(null);
          setForm(withChange(form, next));
        }}
        unsetText={(of) => inheritedText(of, inherited[of], origins[of])}
        errorAt={(of) => (field === of ? errorText(trouble) : null)}
        dependencies={
          <fieldset className="policy-depends">
            <legend>{words.dependsOn}</legend>
            <p className="hint">{words.dependsOnHint}</p>
            {rows.length === 0 ? (
              <p className="hint">{words.dependsOnNone}</p>
            ) : (
              <CheckChoice rows={rows} chosen={dependsOn} label={words.dependsOn} onChange={setDependsOn} />
            )}
          </fieldset>
        }
      />
    </form>
  );
}

// The preview: the alerts of the last 90 days with the changed thresholds and limits.

const TYPING_MS = 500;
/** The fields that decide whether a problem becomes an alert; the others decide when it is sent. */
const REPLAYED = [
  "failures",
  "missed",
  "recovery",
  "startWithin",
  "maxRun",
  "minRun",
  "minGap",
  "early",
] as const satisfies readonly (keyof ReplayRequest)[];

function PolicyReplay({ id, change }: { id: string; change: CheckPolicyChange }) {
  const given = REPLAYED.filter((field) => field in change).map((field) => [field, change[field]]);
  const asked = useDebounced(Object.fromEntries(given) as ReplayRequest, TYPING_MS);
  const isAsked = given.length > 0 && Object.keys(asked).length > 0;
  const { data, isError } = useQuery({
    queryKey: ["replay", id, asked],
    queryFn: () => call("replayCheck", { check: id, body: asked }),
    enabled: isAsked,
    placeholderData: keepPreviousData,
    retry: false,
  });
  // A value that cannot be saved is reported when it is saved.
  if (!isAsked || isError) return null;
  return (
    <section className="edit-replay" aria-live="polite" aria-label={replayWords.title}>
      <h3>{replayWords.title}</h3>
      {data === undefined ? (
        <p className="muted">{replayWords.reading}</p>
      ) : data.runCount === 0 ? (
        <p className="muted">{replayWords.none}</p>
      ) : (
        <ReplayOutcome replay={data} />
      )}
    </section>
  );
}
