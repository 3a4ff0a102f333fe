// The form of a check. What is typed is read by the server while it is typed; a change of the schedule is replayed on
// the check's history; what is wrong stands beside its field.
import { checkName } from "../../../../src/contract/web/list-words.ts";
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import type { CheckPage } from "../../../../src/contract/web/check-page.ts";
import type { CheckRow } from "../../../../src/contract/web/check-row.ts";
import { send, Trouble, troubleText } from "../../../api/api.ts";
import { boot } from "../../../boot/boot.ts";
import { NameFields } from "../../../parts/name-fields.tsx";
import { scheduleOf } from "../../../parts/schedule/reading.ts";
import { ScheduleFields } from "../../../parts/schedule/schedule-fields.tsx";
import { SchedulePreview } from "../../../parts/schedule/schedule-preview.tsx";
import { Button } from "../../../ui/button.tsx";
import { CodeBlock } from "../../../ui/copy.tsx";
import { Drawer } from "../../../ui/dialog.tsx";
import { TextArea } from "../../../ui/field.tsx";
import { toast } from "../../../ui/toast.tsx";
import { editWords as words } from "../../../words/check/edit.ts";
import { codeWords } from "../../../words/check/signal.ts";
import { words as shared } from "../../../words/shared.ts";
import { changeLine } from "../as-code.ts";
import { refreshCheck } from "../../../api/refresh-check.ts";
import { type FieldsProps, FilterFields } from "./filter-fields.tsx";
import { changeOf, isOtherSchedule, type Settings } from "./form-state.ts";
import { ScheduleReplay } from "./schedule-replay.tsx";

type Props = { page: CheckPage; onClose: () => void };

export function EditDrawer({ page, onClose }: Props) {
  // What the check was when the form was opened: what comes by the stream meanwhile is not overwritten by it.
  const [before] = useState(page.settings);
  const [form, setForm] = useState(before);
  const [isCodeShown, setCodeShown] = useState(false);
  const { save, trouble, isBusy } = useSaving(page, { before, onClose });
  const formId = useId();
  const set: FieldsProps["set"] = (change) => setForm((was) => changed(was, change));
  const field = trouble instanceof Trouble ? trouble.field : null;
  const at: FieldsProps["at"] = (...names) =>
    field !== null && (names as string[]).includes(field) ? { error: troubleText(trouble) } : {};
  const change = changeOf(before, form);
  const isChanged = Object.keys(change).length > 0;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isChanged) void save(change);
    else onClose();
  };
  const line = changeLine(isChanged ? change : before, { id: page.row.id, siteUrl: boot.site.url });
  return (
    <Drawer
      isOpen
      onClose={onClose}
      title={words.title(checkName(page.row))}
      className="edit-drawer"
      footer={
        <Foot
          {...{ formId, isBusy, isChanged, isCodeShown, onClose }}
          onCode={() => setCodeShown((was) => !was)}
        />
      }
    >
      <form id={formId} className="form edit-form" onSubmit={submit} noValidate>
        {isCodeShown && <CodeBlock text={line} label={codeWords.change} />}
        <AboutFields form={form} set={set} at={at} />
        <h3>{words.sections.when}</h3>
        <ScheduleFields
          form={form}
          set={set}
          at={at}
          preview={<SchedulePreview asked={scheduleOf(form)} />}
        />
        {isOtherSchedule(before, form) && (
          <ScheduleReplay
            id={page.row.id}
            asked={scheduleOf(form)}
            onGrace={(graceSeconds) => set({ graceSeconds })}
          />
        )}
        <h3>{words.sections.counts}</h3>
        <FilterFields form={form} set={set} at={at} />
        {trouble !== null && field === null && (
          <p className="mistake" role="alert">
            {troubleText(trouble)}
          </p>
        )}
      </form>
    </Drawer>
  );
}

function changed(was: Settings, change: Parameters<FieldsProps["set"]>[0]): Settings {
  return { ...was, ...(typeof change === "function" ? change(was) : change) };
}

type FootProps = {
  formId: string;
  isBusy: boolean;
  isChanged: boolean;
  isCodeShown: boolean;
  onCode: () => void;
  onClose: () => void;
};

function Foot({ formId, isBusy, isChanged, isCodeShown, onCode, onClose }: FootProps) {
  return (
    <>
      <Button kind="bare" aria-pressed={isCodeShown} onClick={onCode}>
        {words.asCode}
      </Button>
      <span className="edit-space" />
      <Button onClick={onClose}>{shared.cancel}</Button>
      <Button kind="primary" type="submit" form={formId} isBusy={isBusy} disabled={!isChanged}>
        {shared.save}
      </Button>
    </>
  );
}

function useSaving(page: CheckPage, { before, onClose }: { before: Settings; onClose: () => void }) {
  const client = useQueryClient();
  const [trouble, setTrouble] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const { id } = page.row;
  const put = async (change: Partial<Settings>) => {
    const row = await send<CheckRow>("PATCH", `/checks/${id}`, change);
    await refreshCheck(client, id);
    return row;
  };
  const save = async (change: Partial<Settings>) => {
    setBusy(true);
    setTrouble(null);
    try {
      const row = await put(change);
      const back = changeOf({ ...before, ...change }, before);
      toast({ text: words.saved(checkName(row)), undo: () => put(back) });
      onClose();
    } catch (error) {
      setTrouble(error);
    } finally {
      setBusy(false);
    }
  };
  return { save, trouble, isBusy };
}

function AboutFields({ form, set, at }: FieldsProps) {
  return (
    <>
      <NameFields form={form} onChange={set} at={at} slugHint={words.slugHint} />
      <TextArea
        label={words.desc}
        hint={words.descHint}
        isOptional
        value={form.desc}
        onChange={(event) => set({ desc: event.target.value })}
        dir="auto"
        {...at("desc")}
      />
    </>
  );
}
