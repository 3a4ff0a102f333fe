// The form of a check. What is typed is read by the server while it is typed; a change of the schedule is replayed on
// the check's history; what is wrong stands beside its field.
import { checkName } from "../../../../src/contract/web/list-words.ts";
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useId, useState } from "react";
import type { CheckPage } from "../../../../src/contract/web/check-page.ts";
import type { CheckRow } from "../../../../src/contract/web/check-row.ts";
import { isMissing, send, Trouble, troubleText } from "../../../api/api.ts";
import { boot } from "../../../boot/boot.ts";
import { Conflict } from "../../../parts/conflict.tsx";
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
import { checkKey, refreshCheck } from "../../../api/refresh-check.ts";
import { GoneNote } from "../head/gone.tsx";
import { type FieldsProps, FilterFields } from "./filter-fields.tsx";
import { changeOf, isOtherSchedule, type Settings } from "./form-state.ts";
import { ScheduleReplay } from "./schedule-replay.tsx";

type Props = {
  page: CheckPage;
  onClose: () => void;
  /** The check was deleted while the form was open. */
  isGone: boolean;
  /** Whether something was typed that is not saved. */
  onUnsaved: (isUnsaved: boolean) => void;
};

export function EditDrawer(props: Props) {
  // Another number begins the form anew with what the check is now.
  const [round, setRound] = useState(0);
  return <EditForm key={round} {...props} onReload={() => setRound((was) => was + 1)} />;
}

function EditForm({ page, isGone, onUnsaved, onReload, onClose }: Props & { onReload: () => void }) {
  // What the check was when the form was opened: what comes by the stream meanwhile is not overwritten by it.
  const [{ settings: before, version }] = useState(page);
  const [form, setForm] = useState(before);
  const [isCodeShown, setCodeShown] = useState(false);
  const { save, trouble, forget, isBusy } = useSaving(page, { before, version, onClose });
  const formId = useId();
  const set: FieldsProps["set"] = (change) => {
    forget();
    setForm((was) => changed(was, change));
  };
  const field = trouble instanceof Trouble ? trouble.field : null;
  const conflict = trouble instanceof Trouble ? trouble.conflict : null;
  const at: FieldsProps["at"] = (...names) =>
    field !== null && (names as string[]).includes(field) ? { error: troubleText(trouble) } : {};
  const change = changeOf(before, form);
  const isChanged = Object.keys(change).length > 0;
  useEffect(() => {
    onUnsaved(isChanged);
    return () => onUnsaved(false);
  }, [isChanged, onUnsaved]);
  const client = useQueryClient();
  const reload = async () => {
    await refreshCheck(client, page.row.id);
    onReload();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isGone) return;
    if (isChanged) void save(change);
    else onClose();
  };
  const line = changeLine(isChanged ? change : before, { id: page.row.id, siteUrl: boot.site.url });
  return (
    <Drawer
      isOpen
      onClose={onClose}
      isUnsaved={isChanged}
      title={words.title(checkName(page.row))}
      className="edit-drawer"
      footer={
        <Foot
          {...{ formId, isBusy, isCodeShown, onClose }}
          isChanged={isChanged && !isGone}
          onCode={() => setCodeShown((was) => !was)}
        />
      }
    >
      <form id={formId} className="form edit-form" onSubmit={submit} noValidate>
        {isGone && <GoneNote page={page} />}
        {conflict !== null && !isGone && (
          <Conflict
            conflict={conflict}
            isBusy={isBusy}
            onOverwrite={() => void save(change, conflict.version)}
            onReload={() => void reload()}
          />
        )}
        {isCodeShown && <CodeBlock text={line} label={codeWords.change} />}
        <AboutFields form={form} set={set} at={at} />
        <h3>{words.sections.when}</h3>
        <ScheduleFields
          form={form}
          set={set}
          at={at}
          preview={<SchedulePreview asked={scheduleOf(form)} />}
        />
        {isOtherSchedule(before, form) && !isGone && (
          <ScheduleReplay
            id={page.row.id}
            asked={scheduleOf(form)}
            onGrace={(graceSeconds) => set({ graceSeconds })}
          />
        )}
        <h3>{words.sections.counts}</h3>
        <FilterFields form={form} set={set} at={at} />
        {trouble !== null && field === null && conflict === null && (
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

type Saved = { before: Settings; version: number; onClose: () => void };

function useSaving(page: CheckPage, { before, version, onClose }: Saved) {
  const client = useQueryClient();
  const [trouble, setTrouble] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const { id } = page.row;
  const put = async (change: Partial<Settings>, based: number) => {
    const row = await send<CheckRow>("PATCH", `/checks/${id}`, { ...change, version: based });
    await refreshCheck(client, id);
    return row;
  };
  const save = async (change: Partial<Settings>, based = version) => {
    setBusy(true);
    setTrouble(null);
    try {
      const row = await put(change, based);
      const back = changeOf({ ...before, ...change }, before);
      // What has been saved since by others is not taken back with it.
      const saved = client.getQueryData<CheckPage>(checkKey(id))?.version ?? based;
      toast({ text: words.saved(checkName(row)), undo: () => put(back, saved) });
      onClose();
    } catch (error) {
      setTrouble(error);
      // The page says what has become of it.
      if (isMissing(error)) void refreshCheck(client, id);
    } finally {
      setBusy(false);
    }
  };
  const forget = () =>
    setTrouble((was: unknown) => (was instanceof Trouble && was.conflict !== null ? was : null));
  return { save, trouble, forget, isBusy };
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
