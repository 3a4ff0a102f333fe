// The sign-in section of the account page: email address, password, passkeys, authenticator app, identity provider.
import { startRegistration, WebAuthnError } from "@simplewebauthn/browser";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type {
  AccountPage,
  IdentityRow,
  PasskeyRow,
  RecoveryCodes,
  TotpSetUp,
} from "../../src/contract/api/account.ts";
import { FIELD_LENGTHS } from "../../src/contract/api/limits.ts";
import { ApiError, errorText, send } from "../api.ts";
import { boot } from "../boot.ts";
import { AddressDialog, Confirm, ConfirmButton } from "../parts/dialogs.tsx";
import { Row, Rows, Section } from "../parts/section.tsx";
import { Button } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { Dialog, FormActions } from "../ui/dialog.tsx";
import { TextField, Tick } from "../ui/field.tsx";
import { Queried } from "../ui/page-state.tsx";
import { toast } from "../ui/toast.tsx";
import { Ago, Day } from "../ui/when.tsx";
import { accountWords } from "../words/account.ts";
import { words as shared } from "../words/shared.ts";
import { useSecurityChange, useRefresh, useWindows } from "./use-account.ts";

const emailWords = accountWords.email;

export function EmailSection({ account }: { account: AccountPage }) {
  const { open, show, close } = useWindows(account);
  const { offers } = account;
  return (
    <Section title={emailWords.title} about={emailWords.about} docs="account">
      <p className="account-address">{account.email}</p>
      {offers.changeEmail ? (
        <Button onClick={() => show("email")}>{emailWords.change}</Button>
      ) : (
        <p className="hint">{offers.passwords ? emailWords.noMail : emailWords.fixed}</p>
      )}
      {open === "email" && <NewAddress onClose={close} />}
    </Section>
  );
}

function NewAddress({ onClose }: { onClose: () => void }) {
  const asked = useMutation({
    mutationFn: (email: string) => send("POST", "/account/email", { email }),
    onSuccess: (_, email) => {
      toast({ text: emailWords.sent(email) });
      onClose();
    },
  });
  return (
    <AddressDialog
      title={emailWords.dialog}
      text={emailWords.dialogText}
      label={emailWords.label}
      whose="own"
      act={emailWords.send}
      onAct={asked.mutate}
      onClose={onClose}
      isBusy={asked.isPending}
      error={asked.error}
    />
  );
}

// Password.

const passwordWords = accountWords.password;
const REMOVE_PASSWORD = { method: "DELETE", path: "/password", message: passwordWords.removed } as const;

export function PasswordSection({ account }: { account: AccountPage }) {
  const { open, show, close } = useWindows(account);
  const removal = useSecurityChange();
  const { hasPassword } = account;
  return (
    <Section title={passwordWords.title} about={passwordWords.about} docs="account">
      <p className="rows-none">{hasPassword ? passwordWords.isSet : passwordWords.notSet}</p>
      <div className="section-acts">
        <Button onClick={() => show("password")}>
          {hasPassword ? passwordWords.change : passwordWords.set}
        </Button>
        {hasPassword && (
          <Button kind="danger" onClick={() => show("noPassword")}>
            {passwordWords.remove}
          </Button>
        )}
      </div>
      {open === "password" && <NewPassword email={account.email} onClose={close} />}
      <Confirm
        isOpen={open === "noPassword" && hasPassword}
        onClose={close}
        title={passwordWords.removeTitle}
        text={passwordWords.removeText}
        act={passwordWords.remove}
        isBusy={removal.isPending}
        error={removal.error}
        onAct={() => removal.mutate(REMOVE_PASSWORD, { onSuccess: close })}
      />
    </Section>
  );
}

function NewPassword({ email, onClose }: { email: string; onClose: () => void }) {
  const [password, setPassword] = useState("");
  const [isShown, setShown] = useState(false);
  const change = useSecurityChange();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate(
      { method: "PUT", path: "/password", body: { password }, message: passwordWords.done },
      { onSuccess: onClose },
    );
  };
  return (
    <Dialog
      isOpen
      onClose={onClose}
      isUnsaved={password !== ""}
      title={passwordWords.dialog}
      description={passwordWords.dialogText}
    >
      <form className="form" onSubmit={submit}>
        {/* For password managers. */}
        <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
        <TextField
          label={passwordWords.label}
          type={isShown ? "text" : "password"}
          required
          autoComplete="new-password"
          spellCheck={false}
          value={password}
          onChange={(event) => setPassword(event.target.value)}
          error={change.isError ? errorText(change.error) : null}
        />
        <Tick label={passwordWords.show} checked={isShown} onCheckedChange={(on) => setShown(on === true)} />
        <FormActions act={shared.save} onClose={onClose} isBusy={change.isPending} />
      </form>
    </Dialog>
  );
}

// Passkeys.

const passkeysWords = accountWords.passkeys;

export function Passkeys({ account }: { account: AccountPage }) {
  const { open, show, close } = useWindows(account);
  return (
    <Section title={passkeysWords.title} about={passkeysWords.about} docs="account">
      <Rows label={passkeysWords.list} none={passkeysWords.none}>
        {account.passkeys.map((passkey) => (
          <Passkey key={passkey.id} passkey={passkey} />
        ))}
      </Rows>
      {account.offers.passkeys ? (
        <Button onClick={() => show("passkey")}>{passkeysWords.add}</Button>
      ) : (
        <p className="hint">{passkeysWords.unusable}</p>
      )}
      {open === "passkey" && <NewPasskey onClose={close} />}
    </Section>
  );
}

function Passkey({ passkey }: { passkey: PasskeyRow }) {
  const name = passkey.name === "" ? passkeysWords.unnamed : passkey.name;
  return (
    <Row
      name={name}
      about={
        <>
          {passkeysWords.made} <Day at={passkey.createdAt} /> ·{" "}
          {passkey.lastUsedAt === null ? (
            passkeysWords.neverUsed
          ) : (
            <>
              {passkeysWords.used} <Ago at={passkey.lastUsedAt} />
            </>
          )}
        </>
      }
      acts={<RemovePasskey id={passkey.id} name={name} />}
    />
  );
}

function RemovePasskey({ id, name }: { id: string; name: string }) {
  const change = useSecurityChange();
  return (
    <ConfirmButton
      label={passkeysWords.removeOf(name)}
      title={passkeysWords.removeTitle(name)}
      text={passkeysWords.removeText}
      act={passkeysWords.remove}
      isBusy={change.isPending}
      error={change.error}
      onAct={() =>
        change.mutate({ method: "DELETE", path: `/passkeys/${id}`, message: passkeysWords.removed })
      }
    />
  );
}

type Options = Parameters<typeof startRegistration>[0]["optionsJSON"];

async function makePasskey(name: string): Promise<void> {
  const optionsJSON = await send<Options>("POST", "/account/passkeys/options", {});
  const response = await startRegistration({ optionsJSON });
  await send("POST", "/account/passkeys", { name, response });
}

/** Browsers only report that it failed. */
function reasonOf(error: unknown): string {
  if (error instanceof ApiError) return errorText(error);
  const isThere =
    error instanceof WebAuthnError && error.code === "ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED";
  return isThere ? passkeysWords.exists : passkeysWords.cancelled;
}

function NewPasskey({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const refresh = useRefresh();
  const made = useMutation({
    mutationFn: () => makePasskey(name.trim()),
    onSuccess: () => {
      refresh();
      toast({ text: passkeysWords.added });
      onClose();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    made.mutate();
  };
  return (
    <Dialog
      isOpen
      onClose={onClose}
      isUnsaved={name !== ""}
      title={passkeysWords.add}
      description={passkeysWords.dialogText}
    >
      <form className="form" onSubmit={submit}>
        <TextField
          label={passkeysWords.name}
          placeholder={passkeysWords.namePlaceholder}
          value={name}
          maxLength={FIELD_LENGTHS.passkeyName}
          autoComplete="off"
          dir="auto"
          onChange={(event) => setName(event.target.value)}
          error={made.isError ? reasonOf(made.error) : null}
        />
        <FormActions act={passkeysWords.next} onClose={onClose} isBusy={made.isPending} />
      </form>
    </Dialog>
  );
}

// Authenticator app.

const totpWords = accountWords.totp;
const REMOVE_TOTP = { method: "DELETE", path: "/totp", message: totpWords.removed } as const;

export function Authenticator({ account }: { account: AccountPage }) {
  const { open, show, close } = useWindows(account);
  const { totp } = account;
  return (
    <Section title={totpWords.title} about={totpWords.about} docs="account">
      {totp === null ? (
        <>
          <p className="rows-none">{totpWords.off}</p>
          <Button onClick={() => show("totp")}>{totpWords.add}</Button>
        </>
      ) : (
        <>
          <p>
            {totpWords.on} <Day at={totp.since} />. {totpWords.codesLeft(totp.codesLeft)}
          </p>
          <div className="section-acts">
            <Button onClick={() => show("codes")}>{totpWords.renew}</Button>
            <Button kind="danger" onClick={() => show("noTotp")}>
              {totpWords.remove}
            </Button>
          </div>
        </>
      )}
      {open === "totp" && <TotpDialog onClose={close} />}
      {open === "codes" && <Renewal onClose={close} />}
      {open === "noTotp" && totp !== null && <Removal onClose={close} />}
    </Section>
  );
}

function Renewal({ onClose }: { onClose: () => void }) {
  const refresh = useRefresh();
  const [codes, setCodes] = useState<string[] | null>(null);
  const renewed = useMutation({
    mutationFn: () => send<RecoveryCodes>("POST", "/account/totp/codes", {}),
    onSuccess: (made) => {
      setCodes(made.codes);
      refresh();
    },
  });
  if (codes !== null) return <ShownCodes codes={codes} onClose={onClose} />;
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={totpWords.renewTitle}
      text={totpWords.renewText}
      act={totpWords.renew}
      isBusy={renewed.isPending}
      error={renewed.error}
      onAct={() => renewed.mutate()}
    />
  );
}

function Removal({ onClose }: { onClose: () => void }) {
  const change = useSecurityChange();
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={totpWords.removeTitle}
      text={totpWords.removeText}
      act={totpWords.remove}
      isBusy={change.isPending}
      error={change.error}
      onAct={() => change.mutate(REMOVE_TOTP, { onSuccess: onClose })}
    />
  );
}

// Setting up an authenticator app: QR code, first code, and the recovery codes, which are shown once.

function TotpDialog({ onClose }: { onClose: () => void }) {
  const [codes, setCodes] = useState<string[] | null>(null);
  const begun = useQuery({
    queryKey: ["totp"],
    queryFn: () => send<TotpSetUp>("POST", "/account/totp", {}),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  if (codes !== null) return <ShownCodes codes={codes} onClose={onClose} />;
  return (
    <Dialog isOpen onClose={onClose} title={totpWords.scanTitle} description={totpWords.scanText}>
      <Queried query={begun} rows={4}>
        {(setUp) => (
          <div className="form">
            <Qr rows={setUp.qr} />
            <p className="hint">{totpWords.byHand}</p>
            <CodeBlock text={setUp.secret} label={totpWords.byHand} />
            <FirstCode onCodes={setCodes} onClose={onClose} />
          </div>
        )}
      </Queried>
    </Dialog>
  );
}

function Qr({ rows }: { rows: readonly (readonly boolean[])[] }) {
  const size = rows.length;
  return (
    <svg
      className="account-qr"
      viewBox={`-2 -2 ${size + 4} ${size + 4}`}
      role="img"
      aria-label={totpWords.qr}
    >
      <path d={qrPath(rows)} fill="currentColor" />
    </svg>
  );
}

function FirstCode({ onCodes, onClose }: { onCodes: (codes: string[]) => void; onClose: () => void }) {
  const [code, setCode] = useState("");
  const refresh = useRefresh();
  const confirmed = useMutation({
    mutationFn: () => send<RecoveryCodes>("POST", "/account/totp/confirm", { code: code.trim() }),
    onSuccess: ({ codes }) => {
      refresh();
      onCodes(codes);
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    confirmed.mutate();
  };
  return (
    <form className="form" onSubmit={submit}>
      <TextField
        label={totpWords.code}
        value={code}
        required
        inputMode="numeric"
        autoComplete="one-time-code"
        maxLength={10}
        className="account-code"
        onChange={(event) => setCode(event.target.value)}
        error={confirmed.isError ? errorText(confirmed.error) : null}
      />
      <FormActions act={totpWords.confirm} onClose={onClose} isBusy={confirmed.isPending} />
    </form>
  );
}

function ShownCodes({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  const text = codes.join("\n");
  const file = `${boot.site.name}, ${boot.site.url}\n${boot.account?.email ?? ""}\n\n${text}\n`;
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={totpWords.codesTitle}
      description={totpWords.codesText}
      footer={
        <>
          <a
            className="button is-quiet"
            download="recovery-codes.txt"
            href={`data:text/plain;charset=utf-8,${encodeURIComponent(file)}`}
          >
            {totpWords.download}
          </a>
          <Button kind="primary" onClick={onClose}>
            {totpWords.codesDone}
          </Button>
        </>
      }
    >
      <div className="account-codes">
        <CodeBlock text={text} label={totpWords.codes} />
      </div>
    </Dialog>
  );
}

// A QR code as one SVG path: each run of dark modules in a row is one bar.

/** `M x y h width v1 h-width z` for each run. */
export function qrPath(rows: readonly (readonly boolean[])[]): string {
  let path = "";
  for (const [y, row] of rows.entries()) {
    let from = 0;
    while (from < row.length) {
      if (row[from] !== true) {
        from += 1;
        continue;
      }
      let to = from;
      while (row[to] === true) to += 1;
      path += `M${from} ${y}h${to - from}v1h${from - to}z`;
      from = to;
    }
  }
  return path;
}

// Identities at the identity provider.

const identitiesWords = accountWords.identities;

export function Identities({ account }: { account: AccountPage }) {
  return (
    <Section title={identitiesWords.title} about={identitiesWords.about} docs="account">
      <Rows label={identitiesWords.title}>
        {account.identities.map((identity) => (
          <Identity key={`${identity.issuer} ${identity.subject}`} identity={identity} />
        ))}
      </Rows>
    </Section>
  );
}

function Identity({ identity }: { identity: IdentityRow }) {
  const { issuer, subject, since, lastUsedAt } = identity;
  return (
    <Row
      name={<span title={identitiesWords.known(subject)}>{issuer}</span>}
      about={
        <>
          {identitiesWords.added} <Day at={since} /> · {identitiesWords.used} <Ago at={lastUsedAt} />
        </>
      }
      acts={<RemoveIdentity identity={identity} />}
    />
  );
}

function RemoveIdentity({ identity: { issuer, subject } }: { identity: IdentityRow }) {
  const change = useSecurityChange();
  const body = { issuer, subject };
  return (
    <ConfirmButton
      label={identitiesWords.removeOf(issuer)}
      title={identitiesWords.removeTitle}
      text={identitiesWords.removeText}
      act={identitiesWords.remove}
      isBusy={change.isPending}
      error={change.error}
      onAct={() =>
        change.mutate({ method: "POST", path: "/identities/remove", body, message: identitiesWords.removed })
      }
    />
  );
}
