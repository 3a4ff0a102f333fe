// The kinds of channels to choose from.
import type { KindCard } from "../../../src/contract/web/channels.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { channelsWords as words } from "../../words/channels.ts";

export function Gallery(props: {
  kinds: readonly KindCard[];
  onPick: (kind: string) => void;
  onClose: () => void;
}) {
  return (
    <Dialog isOpen onClose={props.onClose} title={words.gallery.title} description={words.gallery.text}>
      <ul className="channels-gallery">
        {props.kinds.map(({ name, title, about }) => (
          <li key={name}>
            <button type="button" className="channels-card" onClick={() => props.onPick(name)}>
              <b>{title}</b>
              <span className="muted">{about}</span>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
