// The authenticator app: whether one is set up, how many recovery codes are left, and the ways to change that.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import type { AccountPage, RecoveryCodes } from "../../../../src/contract/web/account.ts";
import { send } from "../../../api/api.ts";
import { Confirm } from "../../../parts/confirm.tsx";
import { Section } from "../../../parts/section.tsx";
import { Button } from "../../../ui/button.tsx";
import { Day } from "../../../ui/when.tsx";
import { accountWords } from "../../../words/account.ts";
import { ShownCodes, TotpDialog } from "./totp-dialog.tsx";
import { useChange, useRefresh, useWindows } from "../use-account.ts";

const words = accountWords.totp;
const REMOVE = { method: "DELETE", path: "/totp", says: words.removed } as const;

export function Authenticator({ account }: { account: AccountPage }) {
  const { open, show, close } = useWindows(account);
  const { totp } = account;
  return (
    <Section title={words.title} about={words.about}>
      {totp === null ? (
        <>
          <p className="rows-none">{words.off}</p>
          <Button onClick={() => show("totp")}>{words.add}</Button>
        </>
      ) : (
        <>
          <p>
            {words.on} <Day at={totp.since} />. {words.codesLeft(totp.codesLeft)}
          </p>
          <div className="section-acts">
            <Button onClick={() => show("codes")}>{words.renew}</Button>
            <Button kind="danger" onClick={() => show("noTotp")}>
              {words.remove}
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
      title={words.renewTitle}
      text={words.renewText}
      act={words.renew}
      isBusy={renewed.isPending}
      error={renewed.error}
      onAct={() => renewed.mutate()}
    />
  );
}

function Removal({ onClose }: { onClose: () => void }) {
  const change = useChange();
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={words.removeTitle}
      text={words.removeText}
      act={words.remove}
      isBusy={change.isPending}
      error={change.error}
      onAct={() => change.mutate(REMOVE, { onSuccess: onClose })}
    />
  );
}
