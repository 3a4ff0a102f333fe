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
import { call, errorText } from "../api.ts";
import { userZone } from "../boot.ts";
import { useMinute } from "../live/clock.ts";
import { useDebounced } from "../parts/hooks.ts";
import { ZoneField } from "../parts/zone-field.tsx";
import { Button, Icon } from "../ui/button.tsx";
import { CodeBlock, CopyButton } from "../ui/copy.tsx";
import { Drawer, FormActions } from "../ui/dialog.tsx";
import { TextArea, Tick } from "../ui/field.tsx";
import { crontabWords } from "../words/checks.ts";
import { formatWhen } from "../words/format.ts";

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

function Made({ made: { crontab, unchanged, error } }: { made: CrontabChecks }) {
  return (
    <div className="form">
      {error !== null && (
        <p className="mistake" role="alert">
          {crontabWords.refused(error)}
        </p>
      )}
      <CodeBlock text={crontab} label={crontabWords.newText} />
      <p className="hint">{crontabWords.install}</p>
      {unchanged.length > 0 && (
        <div className="crontab-by-hand">
          <p className="warning">{crontabWords.unchanged}</p>
          <ul>
            {unchanged.map(({ line, pingCommand }) => (
              <li key={line}>
                <span className="muted">{crontabWords.line(line)}</span>
                <code className="clip">{pingCommand}</code>
                <CopyButton text={pingCommand} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

// The crontab as the server reads it, and the selected lines.

const ASK_AFTER_MS = 300;
const ROWS_SHOWN = 8;
const NOTHING: FoundJobs = { jobs: [], skipped: [] };

type CrontabFormProps = {
  project: string;
  onClose: () => void;
  onMade: (made: CrontabChecks) => void;
  onUnsaved: (isUnsaved: boolean) => void;
};

export function CrontabForm({ project, onClose, onMade, onUnsaved }: CrontabFormProps) {
  const [given, setGiven] = useState<CrontabRequest>({ text: "", tz: userZone });
  const [unwanted, setUnwanted] = useState<ReadonlySet<number>>(new Set());
  const [trouble, setTrouble] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const { found, isRead, error } = useFound(project, given);
  const wanted = found.jobs.map(({ line }) => line).filter((line) => !unwanted.has(line));
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const body: CrontabImport = { ...given, lines: wanted };
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
          if (change.text !== undefined) setUnwanted(new Set());
          setTrouble(null);
          setGiven({ ...given, ...change });
          if (change.text !== undefined) onUnsaved(change.text.trim() !== "");
        }}
      />
      {isRead && <Found found={found} unwanted={unwanted} onChoose={setUnwanted} />}
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

type FoundProps = {
  found: FoundJobs;
  unwanted: ReadonlySet<number>;
  onChoose: (unwanted: ReadonlySet<number>) => void;
};

function Found({ found: { jobs, skipped }, unwanted, onChoose }: FoundProps) {
  const choose = (line: number, isWanted: boolean) => {
    const next = new Set(unwanted);
    if (isWanted) next.delete(line);
    else next.add(line);
    onChoose(next);
  };
  return (
    <section className="crontab-found">
      <p className="crontab-count" role="status">
        {jobs.length === 0 ? crontabWords.none : crontabWords.found(jobs.length)}
      </p>
      <ul>
        {jobs.map((job) => (
          <Job
            key={job.line}
            job={job}
            isWanted={!unwanted.has(job.line)}
            onWant={(isWanted) => choose(job.line, isWanted)}
          />
        ))}
      </ul>
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

type JobProps = { job: FoundJob; isWanted: boolean; onWant: (isWanted: boolean) => void };

function Job({ job, isWanted, onWant }: JobProps) {
  const now = useMinute();
  return (
    <li className="crontab-job">
      <Tick
        label={<b className="clip">{job.name}</b>}
        aria-label={crontabWords.watch(job.name)}
        checked={isWanted}
        onCheckedChange={(checked) => onWant(checked === true)}
      />
      <span className="muted">
        {job.sentence}
        {job.nextAt !== null && ` ${crontabWords.next(formatWhen(job.nextAt, { now, zone: job.tz }))}`}
      </span>
      {job.warnings.map((text) => (
        <p key={text} className="warning crontab-warning">
          <Icon name="warn" size={14} />
          <span>{text}</span>
        </p>
      ))}
    </li>
  );
}
