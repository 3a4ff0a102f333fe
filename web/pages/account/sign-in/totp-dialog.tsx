// Setting up an authenticator app: the picture to scan, the first code, and the recovery codes, shown once.
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { RecoveryCodes, TotpSetUp } from "../../../../src/contract/web/account.ts";
import { send, troubleText } from "../../../api/api.ts";
import { boot } from "../../../boot/boot.ts";
import { Button } from "../../../ui/button.tsx";
import { CodeBlock } from "../../../ui/copy.tsx";
import { Dialog, FormActs } from "../../../ui/dialog.tsx";
import { TextField } from "../../../ui/field.tsx";
import { Queried } from "../../../ui/page-state.tsx";
import { accountWords } from "../../../words/account.ts";
import { qrPath } from "./qr-path.ts";
import { useRefresh } from "../use-account.ts";

const words = accountWords.totp;

export function TotpDialog({ onClose }: { onClose: () => void }) {
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
    <Dialog isOpen onClose={onClose} title={words.scanTitle} description={words.scanText}>
      <Queried query={begun} rows={4}>
        {(setUp) => (
          <div className="form">
            <Qr rows={setUp.qr} />
            <p className="hint">{words.byHand}</p>
            <CodeBlock text={setUp.secret} label={words.byHand} />
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
    <svg className="account-qr" viewBox={`-2 -2 ${size + 4} ${size + 4}`} role="img" aria-label={words.qr}>
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
        label={words.code}
        value={code}
        required
        inputMode="numeric"
        autoComplete="one-time-code"
        maxLength={10}
        className="account-code"
        onChange={(event) => setCode(event.target.value)}
        error={confirmed.isError ? troubleText(confirmed.error) : null}
      />
      <FormActs act={words.confirm} onClose={onClose} isBusy={confirmed.isPending} />
    </form>
  );
}

export function ShownCodes({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  const text = codes.join("\n");
  const file = `${boot.site.name}, ${boot.site.url}\n${boot.account?.email ?? ""}\n\n${text}\n`;
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={words.codesTitle}
      description={words.codesText}
      footer={
        <>
          <a
            className="button is-quiet"
            download="recovery-codes.txt"
            href={`data:text/plain;charset=utf-8,${encodeURIComponent(file)}`}
          >
            {words.download}
          </a>
          <Button kind="primary" onClick={onClose}>
            {words.codesDone}
          </Button>
        </>
      }
    >
      <div className="account-codes">
        <CodeBlock text={text} label={words.codes} />
      </div>
    </Dialog>
  );
}
