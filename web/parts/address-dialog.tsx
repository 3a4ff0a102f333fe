// A window that asks for the address of somebody, and one that shows the link for them where no mail is sent. What is
// done with the address is said by the page; whether it is one is the server's to judge.
import { type FormEvent, type ReactNode, useState } from "react";
import { troubleText } from "../api/api.ts";
import { Button } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { Dialog, FormActs } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { linkWords } from "../words/shared.ts";

type Props = {
  title: string;
  text: string;
  label: string;
  /** What the button says. */
  act: string;
  onAct: (email: string) => void;
  onClose: () => void;
  isBusy: boolean;
  /** Why it could not be done; null: nothing went wrong. */
  error: unknown;
  /** Whose address it is, which is what a browser may offer to fill in. */
  whose: "own" | "other";
  /** More fields, below the address. */
  children?: ReactNode;
};

export function AddressDialog({ label, act, onAct, onClose, isBusy, error, whose, ...rest }: Props) {
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
          error={error === null ? null : troubleText(error)}
        />
        {rest.children}
        <FormActs act={act} onClose={onClose} isBusy={isBusy} />
      </form>
    </Dialog>
  );
}

/** The link of an invitation, to be passed on by hand; it cannot be shown again. */
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
