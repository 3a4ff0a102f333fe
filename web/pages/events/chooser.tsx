// What is chosen of the log: kinds, a range of time, whose time, and the same as a file.
import { useId, useState } from "react";
import { apiUrl } from "../../api/api.ts";
import { readerZone } from "../../boot/boot.ts";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { eventsWords as words } from "../../words/events.ts";
import { askedOf, type Choice, clockOf, SHOWN, ZONES } from "./choice.ts";

type Props = { project: string; choice: Choice; onChoose: (change: Partial<Choice>) => void };

export function Chooser({ project, choice, onChoose }: Props) {
  // Only a phone folds it: there, it would push the log itself out of sight.
  const [isFolded, setFolded] = useState(choice.from === "" && choice.to === "" && choice.zone === "mine");
  const timesId = useId();
  return (
    <>
      <div className="events-bar">
        <span className="events-kinds" role="group" aria-label={words.filter}>
          {SHOWN.map((name) => (
            <button
              key={name}
              type="button"
              className="chip is-quiet"
              aria-pressed={choice.show === name}
              onClick={() => onChoose({ show: name })}
            >
              {words.filters[name]}
            </button>
          ))}
        </span>
        <button
          type="button"
          className="chip is-quiet events-fold"
          aria-expanded={!isFolded}
          aria-controls={timesId}
          onClick={() => setFolded(!isFolded)}
        >
          {words.times}
          <Icon name="down" size={12} />
        </button>
        <span className="events-download" title={words.downloadTitle}>
          <span className="muted">{words.download}</span>
          {(["csv", "json"] as const).map((as) => (
            <a
              key={as}
              className="link"
              href={apiUrl(`/projects/${project}/events/file`, { ...askedOf(choice, readerZone), as })}
              download={`events.${as}`}
              aria-label={words.downloadAs(words.downloads[as])}
            >
              {words.downloads[as]}
            </a>
          ))}
        </span>
      </div>
      <div id={timesId} className={`events-bar${isFolded ? " is-folded" : ""}`}>
        <Times choice={choice} onChoose={onChoose} />
      </div>
    </>
  );
}

function Times({ choice, onChoose }: Omit<Props, "project">) {
  const clockId = useId();
  return (
    <>
      {(["from", "to"] as const).map((end) => (
        <label key={end} className="events-end">
          <span>{words[end]}</span>
          <input
            className="input"
            type="datetime-local"
            aria-describedby={clockId}
            max="8999-12-31T23:59"
            value={choice[end]}
            onChange={(change) => onChoose({ [end]: change.target.value })}
          />
        </label>
      ))}
      <span id={clockId} className="hint">
        {words.clock(clockOf(choice, readerZone))}
      </span>
      {(choice.from !== "" || choice.to !== "") && (
        <Button kind="bare" onClick={() => onChoose({ from: "", to: "" })}>
          {words.anyTime}
        </Button>
      )}
      <label className="events-end events-zone">
        <span>{words.zone}</span>
        <select
          className="input select"
          value={choice.zone}
          onChange={(change) => onChoose({ zone: change.target.value as Choice["zone"] })}
        >
          {ZONES.map((zone) => (
            <option key={zone} value={zone}>
              {zone === "mine" ? words.zones.mine(readerZone) : words.zones[zone]}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}
