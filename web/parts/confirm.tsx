// A question before something that cannot be taken back. What is worth more than a click is confirmed by typing its
// name; the server asks for the name too.
import { type FormEvent, type ReactNode, useState } from "react";
import { troubleText } from "../api/api.ts";
import { Button } from "../ui/button.tsx";
import { Dialog, FormActs } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";

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

type ButtonProps = Omit<Props, "isOpen" | "onClose"> & {
  /** What it is called among others that say the same: "Remove laptop". */
  label: string;
};

/** A quiet button in a row that asks first. */
export function ConfirmButton({ label, ...question }: ButtonProps) {
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <Button kind="bare" aria-label={label} onClick={() => setAsking(true)}>
        {question.act}
      </Button>
      <Confirm {...question} isOpen={isAsking} onClose={() => setAsking(false)} />
    </>
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
      <FormActs act={act} onClose={onClose} isBusy={isBusy} kind="danger" disabled={!isRight} />
    </form>
  );
}
