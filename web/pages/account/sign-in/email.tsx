// The address of the account. A new one is proven by a link before it is used.
import { useMutation } from "@tanstack/react-query";
import type { AccountPage } from "../../../../src/contract/web/account.ts";
import { send } from "../../../api/api.ts";
import { AddressDialog } from "../../../parts/address-dialog.tsx";
import { Section } from "../../../parts/section.tsx";
import { Button } from "../../../ui/button.tsx";
import { toast } from "../../../ui/toast.tsx";
import { accountWords } from "../../../words/account.ts";
import { useWindows } from "../use-account.ts";

const words = accountWords.email;

export function EmailSection({ account }: { account: AccountPage }) {
  const { open, show, close } = useWindows(account);
  const { offers } = account;
  return (
    <Section title={words.title} about={words.about}>
      <p className="account-address">{account.email}</p>
      {offers.changeEmail ? (
        <Button onClick={() => show("email")}>{words.change}</Button>
      ) : (
        <p className="hint">{offers.passwords ? words.noMail : words.fixed}</p>
      )}
      {open === "email" && <NewAddress onClose={close} />}
    </Section>
  );
}

function NewAddress({ onClose }: { onClose: () => void }) {
  const asked = useMutation({
    mutationFn: (email: string) => send("POST", "/account/email", { email }),
    onSuccess: (_, email) => {
      toast({ text: words.sent(email) });
      onClose();
    },
  });
  return (
    <AddressDialog
      title={words.dialog}
      text={words.dialogText}
      label={words.label}
      whose="own"
      act={words.send}
      onAct={asked.mutate}
      onClose={onClose}
      isBusy={asked.isPending}
      error={asked.error}
    />
  );
}
