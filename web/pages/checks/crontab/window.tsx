// A crontab becomes checks: pasted, read by the server while it is typed, chosen from, and given back with lines that
// report. Fetched when it is first asked for.
import "./crontab.css";
import { useState } from "react";
import type { CheckRow } from "../../../../src/contract/web/check-row.ts";
import type { CrontabChecks } from "../../../../src/contract/web/requests/crontab.ts";
import { Button } from "../../../ui/button.tsx";
import { CodeBlock, CopyButton } from "../../../ui/copy.tsx";
import { Drawer } from "../../../ui/dialog.tsx";
import { crontabWords } from "../../../words/checks.ts";
import { CrontabForm } from "./form.tsx";

type Props = { project: string; onClose: () => void; onMade: (rows: CheckRow[]) => void };

export function CrontabWindow({ project, onClose, onMade }: Props) {
  const [made, setMade] = useState<CrontabChecks | null>(null);
  const [isUnsaved, setUnsaved] = useState(false);
  const take = (answer: CrontabChecks) => {
    setMade(answer);
    onMade(answer.rows);
  };
  const { title, about, made: madeTitle, madeAbout } = crontabWords;
  return (
    <Drawer
      isOpen
      onClose={onClose}
      isUnsaved={isUnsaved && made === null}
      title={made === null ? title : madeTitle(made.rows.length)}
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

function Made({ made: { crontab, unchanged, refused } }: { made: CrontabChecks }) {
  return (
    <div className="form">
      {refused !== null && (
        <p className="mistake" role="alert">
          {crontabWords.refused(refused)}
        </p>
      )}
      <CodeBlock text={crontab} label={crontabWords.newText} />
      <p className="hint">{crontabWords.install}</p>
      {unchanged.length > 0 && (
        <div className="crontab-by-hand">
          <p className="warning">{crontabWords.unchanged}</p>
          <ul>
            {unchanged.map(({ line, report }) => (
              <li key={line}>
                <span className="muted">{crontabWords.line(line)}</span>
                <code className="clip">{report}</code>
                <CopyButton text={report} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}
