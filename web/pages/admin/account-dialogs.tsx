// What the operator may change of an account: its limit and its rights; and the way to invite somebody.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { AdminAccount, AdminAccountBody, AdminAccounts } from "../../../src/contract/web/admin.ts";
import { send, troubleText } from "../../api/api.ts";
import { AddressDialog, LinkDialog } from "../../parts/address-dialog.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { Dialog, FormActs } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { accountsWords as words } from "../../words/admin.ts";
import { words as shared } from "../../words/shared.ts";

type Props = { account: AdminAccount; onClose: () => void };

function useAccountChange({ account, onClose }: Props) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: AdminAccountBody) => send("PATCH", `/admin/accounts/${account.uuid}`, body),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["admin-accounts"] });
      toast({ text: words.changed });
      onClose();
    },
  });
}

export function LimitDialog(props: Props) {
  const { account, onClose } = props;
  const [begun] = useState(account.hasOwnLimit ? String(account.checkLimit ?? "") : "");
  const [limit, setLimit] = useState(begun);
  const change = useAccountChange(props);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate({ checkLimit: limit.trim() === "" ? null : Number(limit) });
  };
  return (
    <Dialog
      isOpen
      onClose={onClose}
      isUnsaved={limit !== begun}
      title={words.limitTitle(account.email)}
      description={words.limitText}
    >
      <form className="form" onSubmit={submit}>
        <TextField
          label={words.limit}
          hint={words.limitHint}
          type="number"
          min={0}
          step={1}
          value={limit}
          onChange={(event) => setLimit(event.target.value)}
          error={change.isError ? troubleText(change.error) : null}
        />
        <FormActs act={shared.save} onClose={onClose} isBusy={change.isPending} />
      </form>
    </Dialog>
  );
}

export function OperatorDialog(props: Props) {
  const { account, onClose } = props;
  const { email, isOperator } = account;
  const change = useAccountChange(props);
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={isOperator ? words.endTitle(email) : words.operatorTitle(email)}
      text={isOperator ? words.endText : words.operatorText}
      act={isOperator ? words.endOperator : words.makeOperator}
      isBusy={change.isPending}
      error={change.error}
      onAct={() => change.mutate({ isOperator: !isOperator })}
    />
  );
}

type InviteProps = { invitesBy: AdminAccounts["invitesBy"]; onClose: () => void };

export function InviteDialog({ invitesBy, onClose }: InviteProps) {
  const asked = useMutation({
    mutationFn: (email: string) => send<{ link: string | null }>("POST", "/admin/invitations", { email }),
    onSuccess: ({ link }, email) => {
      if (link !== null) return;
      toast({ text: words.sent(email) });
      onClose();
    },
  });
  const isMailed = invitesBy === "mail";
  const link = asked.data?.link ?? null;
  if (link !== null)
    return <LinkDialog link={link} text={words.linkText(asked.variables ?? "")} onClose={onClose} />;
  return (
    <AddressDialog
      title={words.invite}
      text={isMailed ? words.inviteByMail : words.inviteByLink}
      label={words.email}
      whose="other"
      act={isMailed ? words.send : words.make}
      onAct={asked.mutate}
      onClose={onClose}
      isBusy={asked.isPending}
      error={asked.error}
    />
  );
}
