// Creates checks from a pasted crontab, and returns the crontab with commands that send pings. Loaded on demand.
import "./checks-crontab.css";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import type {
  CrontabChecks,
  CrontabImport,
  CrontabRequest,
  FoundJob,
  FoundJobs,
} from "../../src/contract/api/checks.ts";
import { RUN_PATH } from "../../src/contract/api/words.ts";
import { call, errorText } from "../api.ts";
import { userZone } from "../boot.ts";
import { useMinute } from "../live/clock.ts";
import { useDebounced } from "../parts/hooks.ts";
import { SpanField } from "../parts/schedule.tsx";
import { ZoneField } from "../parts/zone-field.tsx";
import { Button, Icon } from "../ui/button.tsx";
import { CodeBlock, CopyButton } from "../ui/copy.tsx";
import { Drawer, FormActions } from "../ui/dialog.tsx";
import { TextArea, TextField, Tick } from "../ui/field.tsx";
import { Tabs } from "../ui/page-state.tsx";
import { crontabWords } from "../words/checks.ts";
import { formatSpan, formatWhen } from "../words/format.ts";

type CrontabWindowProps = { project: string; onClose: () => void; onMade: (rows: CheckRow[]) => void };

export function CrontabWindow({ project, onClose, onMade }: CrontabWindowProps) {
  const [made, setMade] = useState<CrontabChecks | null>(null);
  const [isUnsaved, setUnsaved] = useState(false);
  const take = (answer: CrontabChecks) => {
    setMade(answer);
    onMade(answer.checks);
  };
  const { title, about, made: madeTitle, createdAbout: madeAbout } = crontabWords;
  return (
    <Drawer
      isOpen
      onClose={onClose}
      isUnsaved={isUnsaved && made === null}
      title={made === null ? title : madeTitle(made.checks.length)}
      description={made === null ? about : madeAbout}
      docs="crontab"
      {...(made !== null && {
        footer: (
          <Button kind="primary" onClick={onClose}>
            {crontabWords.done}
          </Button>
        ),
      })}
    >
      {made === null ? (
        <CrontabForm project={project} onClose={onClose} onMade={take} onUnsaved={setUnsaved} />
      ) : (
        <Made made={made} />
      )}
    </Drawer>
  );
}

function Made({ made }: { made: CrontabChecks }) {
  const { crontab, unchanged, wrapped, error } = made;
  return (
    <div className="form">
      {error !== null && (
        <p className="mistake" role="alert">
          {crontabWords.refused(error)}
        </p>
      )}
      <Tabs
        label={crontabWords.forms}
        tabs={[
          {
            name: "curl",
            label: crontabWords.form.curl,
            body: (
              <div className="form">
                <p className="hint">{crontabWords.formAbout.curl}</p>
                <NewCrontab text={crontab} />
                <ByHand
                  about={crontabWords.unchanged}
                  lines={unchanged.map(({ line, pingCommand }) => ({ line, command: pingCommand }))}
                />
              </div>
            ),
          },
          {
            name: "run",
            label: crontabWords.form.run,
            body: (
              <div className="form">
                <p className="hint">{crontabWords.formAbout.run}</p>
                <CodeBlock
                  text={`curl -fsSL ${location.origin}/overdue-run -o ${RUN_PATH} && chmod 755 ${RUN_PATH}`}
                  label={crontabWords.installRun}
                />
                <NewCrontab text={wrapped.crontab} />
                <ByHand about={crontabWords.unwrapped} lines={wrapped.unchanged} />
              </div>
            ),
          },
        ]}
      />
    </div>
  );
}

function NewCrontab({ text }: { text: string }) {
  return (
    <>
      <CodeBlock text={text} label={crontabWords.newText} />
      <p className="hint">{crontabWords.install}</p>
    </>
  );
}

function ByHand({ about, lines }: { about: string; lines: readonly { line: number; command: string }[] }) {
  if (lines.length === 0) return null;
  return (
    <div className="crontab-by-hand">
      <p className="warning">{about}</p>
      <ul>
        {lines.map(({ line, command }) => (
          <li key={line}>
            <span className="muted">{crontabWords.line(line)}</span>
            <code className="clip">{command}</code>
            <CopyButton text={command} />
          </li>
        ))}
      </ul>
    </div>
  );
}

// The crontab as the server reads it, and the selected lines.

const ASK_AFTER_MS = 300;
const ROWS_SHOWN = 8;
const NOTHING: FoundJobs = { jobs: [], reporting: [], skipped: [] };
const GRACE_PRESETS = [300, 900, 3_600];

/** What the user has changed of a job, by its line. */
type Edit = { isUnwanted?: boolean; name?: string; tags?: string; graceSeconds?: number };
type Edits = ReadonlyMap<number, Edit>;

type CrontabFormProps = {
  project: string;
  onClose: () => void;
  onMade: (made: CrontabChecks) => void;
  onUnsaved: (isUnsaved: boolean) => void;
};

export function CrontabForm({ project, onClose, onMade, onUnsaved }: CrontabFormProps) {
  const [given, setGiven] = useState<CrontabRequest>({ text: "", tz: userZone });
  const [edits, setEdits] = useState<Edits>(new Map());
  const [tags, setTags] = useState("");
  const [trouble, setTrouble] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const { found, isRead, error } = useFound(project, given);
  const wanted = found.jobs.filter(({ line }) => edits.get(line)?.isUnwanted !== true);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const body: CrontabImport = { ...given, jobs: wanted.map((job) => chosenJob(job, edits, tags)) };
      onMade(await call("importCrontab", { project, body }));
    } catch (refused) {
      setTrouble(refused);
      setBusy(false);
    }
  };
  const said = trouble ?? error;
  return (
    <form className="form" onSubmit={(event) => void submit(event)}>
      <CrontabFields
        given={given}
        onChange={(change) => {
          // A changed text has other lines.
          if (change.text !== undefined) setEdits(new Map());
          setTrouble(null);
          setGiven({ ...given, ...change });
          if (change.text !== undefined) onUnsaved(change.text.trim() !== "");
        }}
      />
      {isRead && found.jobs.length > 0 && (
        <TextField
          label={crontabWords.allTags}
          hint={crontabWords.allTagsHint}
          value={tags}
          onChange={(event) => setTags(event.target.value)}
          isOptional
          autoComplete="off"
        />
      )}
      {isRead && <Found found={found} tags={tags} edits={edits} onEdit={setEdits} />}
      {said !== null && (
        <p className="mistake" role="alert">
          {errorText(said)}
        </p>
      )}
      <FormActions
        act={crontabWords.make(wanted.length)}
        onClose={onClose}
        isBusy={isBusy}
        disabled={wanted.length === 0 || !isRead}
      />
    </form>
  );
}

/** The server's reading of the text, once the user has stopped typing. */
function useFound(project: string, given: CrontabRequest) {
  const asked = useDebounced(given, ASK_AFTER_MS);
  const { data, error, isPlaceholderData } = useQuery({
    queryKey: ["crontab", project, asked],
    queryFn: () => call("readCrontab", { project, body: asked }),
    enabled: asked.text.trim() !== "",
    placeholderData: keepPreviousData,
    retry: false,
    gcTime: 0,
  });
  const isRead = data !== undefined && !isPlaceholderData && asked.text === given.text && error === null;
  return { found: isRead ? data : NOTHING, isRead, error };
}

type FieldsProps = { given: CrontabRequest; onChange: (change: Partial<CrontabRequest>) => void };

function CrontabFields({ given, onChange }: FieldsProps) {
  return (
    <>
      <TextArea
        label={crontabWords.text}
        value={given.text}
        placeholder={crontabWords.placeholder}
        onChange={(event) => onChange({ text: event.target.value })}
        rows={ROWS_SHOWN}
        required
        spellCheck={false}
        autoComplete="off"
        wrap="off"
        className="is-code"
      />
      <ZoneField label={crontabWords.zone} value={given.tz} onChange={(tz) => onChange({ tz })} />
    </>
  );
}

function chosenJob({ line }: FoundJob, edits: Edits, tags: string): CrontabImport["jobs"][number] {
  const { isUnwanted: _, ...edit } = edits.get(line) ?? {};
  return { line, tags: tags.trim(), ...edit };
}

type FoundProps = {
  found: FoundJobs;
  tags: string;
  edits: Edits;
  onEdit: (edits: Edits) => void;
};

function Found({ found: { jobs, reporting, skipped }, tags, edits, onEdit }: FoundProps) {
  const edit = (line: number, change: Edit) => {
    onEdit(new Map(edits).set(line, { ...edits.get(line), ...change }));
  };
  const none = reporting.length > 0 ? crontabWords.noneNew : crontabWords.none;
  return (
    <section className="crontab-found">
      <p className="crontab-count" role="status">
        {jobs.length === 0 ? none : crontabWords.found(jobs.length)}
      </p>
      <ul>
        {jobs.map((job) => (
          <Job
            key={job.line}
            job={job}
            tags={tags}
            edit={edits.get(job.line) ?? {}}
            onEdit={(change) => edit(job.line, change)}
          />
        ))}
      </ul>
      {reporting.length > 0 && (
        <details>
          <summary>{crontabWords.reporting(reporting.length)}</summary>
          <ul>
            {reporting.map(({ line, name, by, check }) => (
              <li key={line} className="crontab-left">
                <b className="clip">{name}</b>
                <span className="muted">{crontabWords.reportsBy(by, check)}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
      {skipped.length > 0 && (
        <details>
          <summary>{crontabWords.skipped(skipped.length)}</summary>
          <ul>
            {skipped.map(({ line, text, reason }) => (
              <li key={line} className="crontab-left">
                <code className="clip">{text}</code>
                <span className="muted">{reason}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

type JobProps = { job: FoundJob; tags: string; edit: Edit; onEdit: (change: Edit) => void };

function Job({ job, tags, edit, onEdit }: JobProps) {
  const now = useMinute();
  const name = edit.name ?? job.name;
  const graceSeconds = edit.graceSeconds ?? job.graceSeconds;
  return (
    <li className="crontab-job">
      <Tick
        label={<b className="clip">{name}</b>}
        aria-label={crontabWords.watch(name)}
        checked={edit.isUnwanted !== true}
        onCheckedChange={(checked) => onEdit({ isUnwanted: checked !== true })}
      />
      <span className="muted">
        {job.sentence}
        {job.nextAt !== null && ` ${crontabWords.next(formatWhen(job.nextAt, { now, zone: job.tz }))}`}{" "}
        {crontabWords.graceIs(formatSpan(graceSeconds * 1_000))}
      </span>
      {job.warnings.map((text) => (
        <p key={text} className="warning crontab-warning">
          <Icon name="warn" size={14} />
          <span>{text}</span>
        </p>
      ))}
      <details className="crontab-edit">
        <summary aria-label={crontabWords.editLabel(name)}>{crontabWords.edit}</summary>
        <div className="form">
          <div className="form-pair">
            <TextField
              label={crontabWords.name}
              value={name}
              onChange={(event) => onEdit({ name: event.target.value })}
              autoComplete="off"
            />
            <TextField
              label={crontabWords.tags}
              value={edit.tags ?? tags}
              onChange={(event) => onEdit({ tags: event.target.value })}
              autoComplete="off"
            />
          </div>
          <SpanField
            label={crontabWords.grace}
            seconds={graceSeconds}
            onChange={(seconds) => onEdit({ graceSeconds: seconds })}
            presets={GRACE_PRESETS}
          />
        </div>
      </details>
    </li>
  );
}
