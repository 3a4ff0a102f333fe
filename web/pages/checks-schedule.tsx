// One schedule for all selected checks. It starts with the schedule of the first. Loaded on demand.
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import type { CheckPage } from "../../src/contract/api/check-page.ts";
import type { ScheduleGroup, SchedulesRequest, SchedulesResult } from "../../src/contract/api/checks.ts";
import { BULK_CHECKS_MAX } from "../../src/contract/api/limits.ts";
import { ApiError, call, checkKey, errorText } from "../api.ts";
import { Conflict } from "../parts/conflict.tsx";
import {
  type FieldsProps,
  PreviewPanel,
  type Schedule,
  ScheduleFields,
  scheduleOf,
} from "../parts/schedule.tsx";
import { Button } from "../ui/button.tsx";
import { Drawer } from "../ui/dialog.tsx";
import { Queried } from "../ui/page-state.tsx";
import { schedulesWords as words } from "../words/schedule.ts";
import { words as shared } from "../words/shared.ts";
import { namesOf, type Outcome, showOutcome } from "./checks-actions.ts";

/** Beyond these, only the number of other schedules is shown. */
const SHOWN_MAX = 4;

type Props = { project: string; rows: readonly CheckRow[]; onClose: () => void; onDone: () => void };

export function ScheduleWindow({ project, rows, onClose, onDone }: Props) {
  // The check that it started with, even if the selection changes or the check is deleted.
  const [id] = useState(rows[0]?.id ?? "");
  // Fetched each time: outdated values would be saved for all checks.
  const query = useQuery({
    queryKey: [...checkKey(id), "schedule"],
    queryFn: () => call("getCheck", { check: id }),
    gcTime: 0,
  });
  const [isBusy, setBusy] = useState(false);
  const [isUnsaved, setUnsaved] = useState(false);
  // A new key resets the form to the current check.
  const [round, setRound] = useState(0);
  const formId = useId();
  const reload = async () => {
    await query.refetch();
    setUnsaved(false);
    setRound((was) => was + 1);
  };
  const what = namesOf(rows);
  return (
    <Drawer
      isOpen
      onClose={onClose}
      isUnsaved={isUnsaved}
      title={words.title(what)}
      description={words.about}
      footer={
        <>
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button
            kind="primary"
            type="submit"
            form={formId}
            isBusy={isBusy}
            disabled={query.data === undefined}
          >
            {words.act(what)}
          </Button>
        </>
      }
    >
      <Queried query={query}>
        {(page) => (
          <ScheduleForm
            key={round}
            {...{ project, rows, formId, page, isBusy, onDone }}
            onBusy={setBusy}
            onTyped={() => setUnsaved(true)}
            onReload={() => void reload()}
          />
        )}
      </Queried>
    </Drawer>
  );
}

type FormProps = Pick<Props, "project" | "rows" | "onDone"> & {
  formId: string;
  /** The check that the form starts with. */
  page: CheckPage;
  isBusy: boolean;
  onBusy: (isBusy: boolean) => void;
  onTyped: () => void;
  onReload: () => void;
};

function ScheduleForm({ project, rows, formId, page, onBusy, onTyped, onDone, ...rest }: FormProps) {
  const [{ settings, readAt }] = useState(page);
  const [form, setForm] = useState(() => scheduleOf(settings));
  const [trouble, setTrouble] = useState<unknown>(null);
  const set: FieldsProps["set"] = (change) => {
    onTyped();
    setForm((was) => ({ ...was, ...(typeof change === "function" ? change(was) : change) }));
  };
  const field = trouble instanceof ApiError ? trouble.field : null;
  const isBeside = field !== null && field in form;
  const at: FieldsProps["at"] = (...names) =>
    isBeside && (names as string[]).includes(field) ? { error: errorText(trouble) } : {};
  const conflict = trouble instanceof ApiError ? trouble.conflict : null;
  const save = async (version: number) => {
    onBusy(true);
    const error = await give(project, rows, { timing: scheduleOf(form), version });
    onBusy(false);
    setTrouble(error);
    if (error === null) onDone();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void save(readAt);
  };
  return (
    <form id={formId} className="form" onSubmit={submit} noValidate>
      {conflict !== null && (
        <Conflict
          conflict={conflict}
          isBusy={rest.isBusy}
          onOverwrite={() => void save(conflict.version)}
          onReload={rest.onReload}
        />
      )}
      <Present rows={rows} />
      <ScheduleFields form={form} set={set} at={at} preview={<PreviewPanel asked={scheduleOf(form)} />} />
      {trouble !== null && !isBeside && conflict === null && (
        <p className="mistake" role="alert">
          {errorText(trouble)}
        </p>
      )}
    </form>
  );
}

/** Sets the schedule and shows a message with undo. Returns why nothing could be set, or null. */
async function give(
  project: string,
  rows: readonly CheckRow[],
  { timing, version }: { timing: Schedule; version: number },
): Promise<unknown> {
  const ask = (request: SchedulesRequest) => call("setSchedules", { project, body: request });
  const ids = rows.map(({ id }) => id);
  const { undo, ...ended } = await setSchedules(ask, portionsOf({ ids, timing, version }));
  if (ended.done.length === 0 && ended.fault !== null) return ended.fault;
  const takeBack = undo.length > 0 ? () => setSchedules(ask, undo) : null;
  showOutcome(ended, { rows, message: words.done, takeBack });
  return null;
}

/** The current schedules, to detect changes by other users. */
function Present({ rows }: { rows: readonly CheckRow[] }) {
  const all = [...new Set(rows.map(({ expected }) => expected))];
  const more = all.length - SHOWN_MAX;
  return (
    <p className="hint">
      {words.now}: {all.slice(0, SHOWN_MAX).join(" · ")}
      {more > 0 && ` ${words.more(more)}`}
    </p>
  );
}

// Sets the schedules of many checks in as many requests as needed, and collects the previous ones for undo.

type Ask = (request: SchedulesRequest) => Promise<SchedulesResult>;

/** The same schedule for all, in as many requests as it takes. `version`: schedules edited after it are a conflict. */
export function portionsOf({
  ids,
  timing,
  version,
}: {
  ids: readonly string[];
  timing: ScheduleGroup["timing"];
  version: number;
}): SchedulesRequest[] {
  const count = Math.ceil(ids.length / BULK_CHECKS_MAX);
  return Array.from({ length: count }, (_, index) => {
    const from = index * BULK_CHECKS_MAX;
    return { groups: [{ ids: ids.slice(from, from + BULK_CHECKS_MAX), timing }], version };
  });
}

/** Sends one request after the other. Never throws: it stops at the first error and returns what was done. */
export async function setSchedules(
  ask: Ask,
  portions: readonly SchedulesRequest[],
): Promise<Omit<Outcome, "undo"> & { undo: SchedulesRequest[] }> {
  const outcome: Omit<Outcome, "undo"> & { undo: SchedulesRequest[] } = {
    done: [],
    failed: [],
    fault: null,
    undo: [],
  };
  for (const portion of portions) {
    try {
      const { done, failed, previous, version } = await ask(portion);
      outcome.done.push(...done);
      outcome.failed.push(...failed);
      // Changes that others have saved since are not undone with it.
      if (previous.length > 0) outcome.undo.unshift({ groups: previous, version });
    } catch (fault) {
      return { ...outcome, fault };
    }
  }
  return outcome;
}
