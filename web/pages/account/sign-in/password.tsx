// The password: set, changed, removed. What a good one is, the server says.
import { type FormEvent, useState } from "react";
import type { AccountPage } from "../../../../src/contract/web/account.ts";
import { troubleText } from "../../../api/api.ts";
import { Confirm } from "../../../parts/confirm.tsx";
import { Section } from "../../../parts/section.tsx";
import { Button } from "../../../ui/button.tsx";
import { Dialog, FormActs } from "../../../ui/dialog.tsx";
import { TextField, Tick } from "../../../ui/field.tsx";
import { accountWords } from "../../../words/account.ts";
import { words as shared } from "../../../words/shared.ts";
import { useChange, useWindows } from "../use-account.ts";

const words = accountWords.password;
const REMOVE = { method: "DELETE", path: "/password", says: words.removed } as const;

export function PasswordSection({ account }: { account: AccountPage }) {
  const { open, show, close } = useWindows(account);
  const removal = useChange();
  const { hasPassword } = account;
  return (
    <Section title={words.title} about={words.about}>
      <p className="rows-none">{hasPassword ? words.isSet : words.notSet}</p>
      <div className="section-acts">
        <Button onClick={() => show("password")}>{hasPassword ? words.change : words.set}</Button>
        {hasPassword && (
          <Button kind="danger" onClick={() => show("noPassword")}>
            {words.remove}
          </Button>
        )}
      </div>
      {open === "password" && <NewPassword email={account.email} onClose={close} />}
      <Confirm
        isOpen={open === "noPassword" && hasPassword}
        onClose={close}
        title={words.removeTitle}
        text={words.removeText}
        act={words.remove}
        isBusy={removal.isPending}
        error={removal.error}
        onAct={() => removal.mutate(REMOVE, { onSuccess: close })}
      />
    </Section>
  );
}

function NewPassword({ email, onClose }: { email: string; onClose: () => void }) {
  const [password, setPassword] = useState("");
  const [isShown, setShown] = useState(false);
  const change = useChange();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate(
      { method: "PUT", path: "/password", body: { password }, says: words.done },
      { onSuccess: onClose },
    );
  };
  return (
    <Dialog
      isOpen
      onClose={onClose}
      isUnsaved={password !== ""}
      title={words.dialog}
      description={words.dialogText}
    >
      <form className="form" onSubmit={submit}>
        {/* Password keepers want to know whose it is. */}
        <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
        <TextField
          label={words.label}
          type={isShown ? "text" : "password"}
          required
          autoComplete="new-password"
          spellCheck={false}
          value={password}
          onChange={(event) => setPassword(event.target.value)}
          error={change.isError ? troubleText(change.error) : null}
        />
        <Tick label={words.show} checked={isShown} onCheckedChange={(on) => setShown(on === true)} />
        <FormActs act={shared.save} onClose={onClose} isBusy={change.isPending} />
      </form>
    </Dialog>
  );
}
