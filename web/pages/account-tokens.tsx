// Personal access tokens on the account page: the list, a dialog that creates one, and its text, shown once.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { AccountPage } from "../../src/contract/api/account.ts";
import { FIELD_LENGTHS } from "../../src/contract/api/limits.ts";
import type { TokenBody, TokenCreated, TokenRow } from "../../src/contract/api/tokens.ts";
import { ApiError, call, errorText, send } from "../api.ts";
import { userZone } from "../boot.ts";
import { useMinute } from "../live/clock.ts";
import { ConfirmButton } from "../parts/dialogs.tsx";
import { Row, Rows, Section } from "../parts/section.tsx";
import { Button } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { Dialog, FormActions } from "../ui/dialog.tsx";
import { SelectField, TextField } from "../ui/field.tsx";
import { Queried } from "../ui/page-state.tsx";
import { toast } from "../ui/toast.tsx";
import { Ago, Day } from "../ui/when.tsx";
import { SCOPE_ABOUT, SCOPE_WORDS, tokenWords } from "../words/account-tokens.ts";
import { formatDay } from "../words/format.ts";
import { useWindows } from "./use-account.ts";

const KEY = ["tokens"];
const { dialog: dialogWords, created: createdWords } = tokenWords;
const DAYS_CHOICES = [7, 30, 90, 180, 365];
const DAYS_DEFAULT = 90;
const DAY_MS = 86_400_000;

export function AccessTokens({ account }: { account: AccountPage }) {
  const query = useQuery({ queryKey: KEY, queryFn: () => call("listTokens", {}) });
  const { open, show, close } = useWindows(account);
  return (
    <Section title={tokenWords.title} about={tokenWords.about} docs="tokens">
      <Queried query={query} rows={1}>
        {({ tokens }) => (
          <Rows label={tokenWords.list} none={tokenWords.none}>
            {tokens.map((token) => (
              <Token key={token.id} token={token} />
            ))}
          </Rows>
        )}
      </Queried>
      <Button onClick={() => show("token")}>{tokenWords.create}</Button>
      {open === "token" && <NewToken onClose={close} />}
    </Section>
  );
}

function Token({ token }: { token: TokenRow }) {
  const { name, scope, prefix, lastUsedAt, expiresAt, isExpired } = token;
  return (
    <Row
      name={name}
      mark={isExpired ? tokenWords.expired : scope}
      about={
        <>
          <code>{prefix}…</code> ·{" "}
          {lastUsedAt === null ? (
            tokenWords.neverUsed
          ) : (
            <>
              {tokenWords.used} <Ago at={lastUsedAt} />
            </>
          )}{" "}
          · {isExpired ? tokenWords.expired : tokenWords.expires} <Day at={expiresAt} />
        </>
      }
      acts={<Revoke token={token} />}
    />
  );
}

function Revoke({ token: { id, name } }: { token: TokenRow }) {
  const client = useQueryClient();
  const revoked = useMutation({
    mutationFn: () => call("revokeToken", { token: id }),
    onSuccess: () => {
      toast({ text: tokenWords.revoked });
      return client.invalidateQueries({ queryKey: KEY });
    },
  });
  return (
    <ConfirmButton
      label={tokenWords.revokeOf(name)}
      title={tokenWords.revokeTitle(name)}
      text={tokenWords.revokeText}
      act={tokenWords.revoke}
      isBusy={revoked.isPending}
      error={revoked.error}
      onAct={() => revoked.mutate()}
    />
  );
}

function NewToken({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const now = useMinute();
  const [body, setBody] = useState<TokenBody>({ name: "", scope: "read", expiresInDays: DAYS_DEFAULT });
  const created = useMutation({
    mutationFn: () => send<TokenCreated>("POST", "/account/tokens", { ...body, name: body.name.trim() }),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    created.mutate();
  };
  if (created.data !== undefined) return <Created token={created.data.token} onClose={onClose} />;
  const { error } = created;
  // The page leaves to re-authenticate and opens this dialog again.
  const isShown = error !== null && !(error instanceof ApiError && error.needsProof);
  const expiresAt = now + body.expiresInDays * DAY_MS;
  return (
    <Dialog
      isOpen
      onClose={onClose}
      isUnsaved={body.name !== ""}
      title={dialogWords.title}
      description={dialogWords.about}
    >
      <form className="form" onSubmit={submit}>
        <TextField
          label={dialogWords.name}
          placeholder={dialogWords.namePlaceholder}
          value={body.name}
          required
          maxLength={FIELD_LENGTHS.accessTokenName}
          autoComplete="off"
          dir="auto"
          onChange={(event) => setBody({ ...body, name: event.target.value })}
          error={isShown ? errorText(error) : null}
        />
        <SelectField
          label={dialogWords.scope}
          hint={SCOPE_ABOUT[body.scope]}
          value={body.scope}
          onChange={(event) => setBody({ ...body, scope: event.target.value as TokenBody["scope"] })}
        >
          {Object.entries(SCOPE_WORDS).map(([scope, text]) => (
            <option key={scope} value={scope}>
              {text}
            </option>
          ))}
        </SelectField>
        <SelectField
          label={dialogWords.expiration}
          hint={dialogWords.expiresOn(formatDay(expiresAt, { now, zone: userZone }))}
          value={body.expiresInDays}
          onChange={(event) => setBody({ ...body, expiresInDays: Number(event.target.value) })}
        >
          {DAYS_CHOICES.map((days) => (
            <option key={days} value={days}>
              {dialogWords.days(days)}
            </option>
          ))}
        </SelectField>
        <FormActions act={dialogWords.create} onClose={onClose} isBusy={created.isPending} />
      </form>
    </Dialog>
  );
}

function Created({ token, onClose }: { token: string; onClose: () => void }) {
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={createdWords.title}
      description={createdWords.text}
      footer={
        <Button kind="primary" onClick={onClose}>
          {createdWords.done}
        </Button>
      }
    >
      <CodeBlock text={token} label={createdWords.label} />
    </Dialog>
  );
}
