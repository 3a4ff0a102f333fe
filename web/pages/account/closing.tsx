// The end of an account: confirmed by typing its address, and then nothing of it is left.
import { useMutation } from "@tanstack/react-query";
import type { AccountPage } from "../../../src/contract/web/account.ts";
import { send } from "../../api/api.ts";
import { siteUrl } from "../../boot/boot.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Section } from "../../parts/section.tsx";
import { Button } from "../../ui/button.tsx";
import { accountWords } from "../../words/account.ts";
import { useWindows } from "./use-account.ts";

const words = accountWords.close;

export function Closing({ account }: { account: AccountPage }) {
  const { open, show, close } = useWindows(account);
  const closed = useMutation({
    mutationFn: (email: string) => send("POST", "/account/close", { email }),
    onSuccess: () => location.assign(siteUrl("/accounts/login/")),
  });
  return (
    <Section title={words.title} about={words.about}>
      <Button kind="danger" onClick={() => show("close")}>
        {words.act}
      </Button>
      <Confirm
        isOpen={open === "close"}
        onClose={close}
        title={words.ask}
        text={words.text}
        act={words.act}
        typed={{ label: words.typed(account.email), value: account.email }}
        isBusy={closed.isPending}
        error={closed.error}
        onAct={(email) => closed.mutate(email)}
      />
    </Section>
  );
}
