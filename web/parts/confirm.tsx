// A question before something that cannot be taken back. What is worth more than a click is confirmed by typing its
// name; the server asks for the name too.
import { type FormEvent, type ReactNode, useState } from "react";
import { troubleText } from "../api/api.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { words } from "../words/shared.ts";

type Props = {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  text: ReactNode;
  /** What the button says: the act, and not "Yes". */
  act: string;
  onAct: (typed: string) => void;
  isBusy?: boolean;
  /** Why it could not be done; null: nothing went wrong. */
  error?: unknown;
  typed?: { label: string; value: string };
};

export function Confirm(props: Props) {
  return (
    <Dialog isOpen={props.isOpen} onClose={props.onClose} title={props.title} description={props.text}>
      <ConfirmForm {...props} />
    </Dialog>
  );
}

function ConfirmForm({ typed, act, onAct, onClose, isBusy = false, error = null }: Props) {
  const [text, setText] = useState("");
  const isRight = typed === undefined || text.trim() === typed.value.trim();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isRight) onAct(text.trim());
  };
  return (
    <form className="form" onSubmit={submit}>
      {typed !== undefined && (
        <TextField
          label={typed.label}
          value={text}
          onChange={(change) => setText(change.target.value)}
          autoComplete="off"
          spellCheck={false}
          dir="auto"
        />
      )}
      {error !== null && (
        <p className="mistake" role="alert">
          {troubleText(error)}
        </p>
      )}
      <div className="form-acts">
        <Button onClick={onClose}>{words.cancel}</Button>
        <Button kind="danger" type="submit" disabled={!isRight} isBusy={isBusy}>
          {act}
        </Button>
      </div>
    </form>
  );
}
