// Shown when another user has saved the same thing while a form was open: who, what, and the choice between the two.
import type { EditConflict } from "../../src/contract/api/boot.ts";
import { userZone } from "../boot.ts";
import { useMinute } from "../live/clock.ts";
import { Button } from "../ui/button.tsx";
import { formatWhen } from "../words/format.ts";
import { words } from "../words/shared.ts";
import { differences } from "./audit-log.tsx";

type Props = {
  conflict: EditConflict;
  isBusy: boolean;
  onOverwrite: () => void;
  onReload: () => void;
};

export function Conflict({ conflict, isBusy, onOverwrite, onReload }: Props) {
  const now = useMinute();
  const { title, changed, explain, overwrite, reload } = words.conflict;
  const found = differences(conflict.before, conflict.after);
  return (
    <section className="conflict" role="alert" ref={showPlace}>
      <h3>{title}</h3>
      <p>{authorText(conflict, formatWhen(conflict.at, { now, zone: userZone }))}</p>
      {found.length > 0 && (
        <dl aria-label={changed}>
          {found.map(({ field, before, after }) => (
            <div key={field}>
              <dt>{field}</dt>
              <dd dir="auto">
                {before !== null && `${before} → `}
                {after}
              </dd>
            </div>
          ))}
        </dl>
      )}
      <p className="hint">{explain}</p>
      <div className="form-acts">
        <Button isBusy={isBusy} onClick={onReload}>
          {reload}
        </Button>
        <Button kind="danger" isBusy={isBusy} onClick={onOverwrite}>
          {overwrite}
        </Button>
      </div>
    </section>
  );
}

/** Its button may have been pressed at the other end of a long form. */
function showPlace(place: HTMLElement | null): void {
  place?.scrollIntoView({ block: "nearest" });
}

function authorText({ by }: EditConflict, when: string): string {
  const texts = words.conflict.by;
  if (by === null) return texts.unknown(when);
  return by.kind === "person" ? texts.person(by.email, when) : texts[by.kind](when);
}
