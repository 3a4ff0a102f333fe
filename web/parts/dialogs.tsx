// Confirmation dialogs. Important ones require typing a name; the server checks it too.
import { type FormEvent, type ReactNode, useState } from "react";
import { errorText } from "../api.ts";
import { Button } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { Dialog, FormActions } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { linkWords } from "../words/shared.ts";

type ConfirmProps = {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  text: ReactNode;
  /** The label of the button: the action, and not "Yes". */
  act: string;
  onAct: (typed: string) => void;
  isBusy?: boolean;
  /** The error message; null: no error. */
  error?: unknown;
  typed?: { label: string; value: string };
};

export function Confirm(props: ConfirmProps) {
  return (
    <Dialog isOpen={props.isOpen} onClose={props.onClose} title={props.title} description={props.text}>
      <ConfirmForm {...props} />
    </Dialog>
  );
}

type ButtonProps = Omit<ConfirmProps, "isOpen" | "onClose"> & {
  /** The accessible name, to distinguish buttons with the same label: "Remove laptop". */
  label: string;
};

/** A quiet button in a row that asks for confirmation. */
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

function ConfirmForm({ typed, act, onAct, onClose, isBusy = false, error = null }: ConfirmProps) {
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
          {errorText(error)}
        </p>
      )}
      <FormActions act={act} onClose={onClose} isBusy={isBusy} kind="danger" disabled={!isRight} />
    </form>
  );
}

// Dialogs that ask for an email address, or show an invitation link if the server sends no email.

type AddressDialogProps = {
  title: string;
  text: string;
  label: string;
  /** The label of the button. */
  act: string;
  onAct: (email: string) => void;
  onClose: () => void;
  isBusy: boolean;
  /** The error message; null: no error. */
  error: unknown;
  /** The autocomplete value of the address. */
  whose: "own" | "other";
  /** More fields, below the address. */
  children?: ReactNode;
};

export function AddressDialog({
  label,
  act,
  onAct,
  onClose,
  isBusy,
  error,
  whose,
  ...rest
}: AddressDialogProps) {
  const [email, setEmail] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onAct(email.trim());
  };
  return (
    <Dialog isOpen onClose={onClose} isUnsaved={email !== ""} title={rest.title} description={rest.text}>
      <form className="form" onSubmit={submit}>
        <TextField
          label={label}
          type="email"
          required
          autoComplete={whose === "own" ? "email" : "off"}
          value={email}
          onChange={(event) => setEmail(event.target.value)}
          error={error === null ? null : errorText(error)}
        />
        {rest.children}
        <FormActions act={act} onClose={onClose} isBusy={isBusy} />
      </form>
    </Dialog>
  );
}

/** The link of an invitation, to be shared manually; it cannot be shown again. */
export function LinkDialog({ link, text, onClose }: { link: string; text: string; onClose: () => void }) {
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={linkWords.title}
      description={text}
      footer={
        <Button kind="primary" onClick={onClose}>
          {linkWords.done}
        </Button>
      }
    >
      <CodeBlock text={link} label={linkWords.label} />
    </Dialog>
  );
}
