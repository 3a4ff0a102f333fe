// Passkeys: made by the browser, named by the person, removed one by one.
import { FIELD_LENGTHS } from "../../../../src/contract/web/requests/sizes.ts";
import { startRegistration, WebAuthnError } from "@simplewebauthn/browser";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { AccountPage, PasskeyRow } from "../../../../src/contract/web/account.ts";
import { send, Trouble, troubleText } from "../../../api/api.ts";
import { ConfirmButton } from "../../../parts/confirm.tsx";
import { Row, Rows, Section } from "../../../parts/section.tsx";
import { Button } from "../../../ui/button.tsx";
import { Dialog, FormActs } from "../../../ui/dialog.tsx";
import { TextField } from "../../../ui/field.tsx";
import { toast } from "../../../ui/toast.tsx";
import { Ago, Day } from "../../../ui/when.tsx";
import { accountWords } from "../../../words/account.ts";
import { useChange, useRefresh, useWindows } from "../use-account.ts";

const words = accountWords.passkeys;

export function Passkeys({ account }: { account: AccountPage }) {
  const { open, show, close } = useWindows(account);
  return (
    <Section title={words.title} about={words.about}>
      <Rows label={words.list} none={words.none}>
        {account.passkeys.map((passkey) => (
          <Passkey key={passkey.uuid} passkey={passkey} />
        ))}
      </Rows>
      {account.offers.passkeys ? (
        <Button onClick={() => show("passkey")}>{words.add}</Button>
      ) : (
        <p className="hint">{words.unusable}</p>
      )}
      {open === "passkey" && <NewPasskey onClose={close} />}
    </Section>
  );
}

function Passkey({ passkey }: { passkey: PasskeyRow }) {
  const name = passkey.name === "" ? words.unnamed : passkey.name;
  return (
    <Row
      name={name}
      about={
        <>
          {words.made} <Day at={passkey.createdAt} /> ·{" "}
          {passkey.lastUsedAt === null ? (
            words.neverUsed
          ) : (
            <>
              {words.used} <Ago at={passkey.lastUsedAt} />
            </>
          )}
        </>
      }
      acts={<RemovePasskey uuid={passkey.uuid} name={name} />}
    />
  );
}

function RemovePasskey({ uuid, name }: { uuid: string; name: string }) {
  const change = useChange();
  return (
    <ConfirmButton
      label={words.removeOf(name)}
      title={words.removeTitle(name)}
      text={words.removeText}
      act={words.remove}
      isBusy={change.isPending}
      error={change.error}
      onAct={() => change.mutate({ method: "DELETE", path: `/passkeys/${uuid}`, says: words.removed })}
    />
  );
}

type Options = Parameters<typeof startRegistration>[0]["optionsJSON"];

async function makePasskey(name: string): Promise<void> {
  const optionsJSON = await send<Options>("POST", "/account/passkeys/options", {});
  const response = await startRegistration({ optionsJSON });
  await send("POST", "/account/passkeys", { name, response });
}

/** Browsers do not say more than that nothing came of it. */
function reasonOf(error: unknown): string {
  if (error instanceof Trouble) return troubleText(error);
  const isThere =
    error instanceof WebAuthnError && error.code === "ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED";
  return isThere ? words.exists : words.cancelled;
}

function NewPasskey({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const refresh = useRefresh();
  const made = useMutation({
    mutationFn: () => makePasskey(name.trim()),
    onSuccess: () => {
      refresh();
      toast({ text: words.added });
      onClose();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    made.mutate();
  };
  return (
    <Dialog isOpen onClose={onClose} isUnsaved={name !== ""} title={words.add} description={words.dialogText}>
      <form className="form" onSubmit={submit}>
        <TextField
          label={words.name}
          placeholder={words.namePlaceholder}
          value={name}
          maxLength={FIELD_LENGTHS.passkeyName}
          autoComplete="off"
          dir="auto"
          onChange={(event) => setName(event.target.value)}
          error={made.isError ? reasonOf(made.error) : null}
        />
        <FormActs act={words.next} onClose={onClose} isBusy={made.isPending} />
      </form>
    </Dialog>
  );
}
