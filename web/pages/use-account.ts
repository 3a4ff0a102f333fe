// The account, fetched once for the page; every change returns it. Some dialogs require re-authentication first.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { AccountPage } from "../../src/contract/api/account.ts";
import { get, leaveForReauthentication, send } from "../api.ts";
import { serverNow } from "../live/clock.ts";
import { useOpen } from "../parts/hooks.ts";
import { toast } from "../ui/toast.tsx";

const KEY = ["account"];

export function useAccount() {
  return useQuery({ queryKey: KEY, queryFn: () => get<AccountPage>("/account") });
}

export type Change = {
  method: "POST" | "PUT" | "PATCH" | "DELETE";
  /** Behind the address of the account: "/password". */
  path: string;
  body?: unknown;
  says: string;
  undo?: Change;
};

/** Sends changes that answer with the account. */
export function useChange() {
  const client = useQueryClient();
  const ask = ({ method, path, body }: Change) => send<AccountPage>(method, `/account${path}`, body);
  return useMutation({
    mutationFn: ask,
    onSuccess: (account, { says, undo }) => {
      client.setQueryData(KEY, account);
      const takeBack =
        undo === undefined ? {} : { undo: async () => client.setQueryData(KEY, await ask(undo)) };
      toast({ text: says, ...takeBack });
    },
  });
}

/** Fetches the account anew after something that does not answer with it. */
export function useRefresh(): () => void {
  const client = useQueryClient();
  return () => void client.invalidateQueries({ queryKey: KEY });
}

const WINDOWS = ["email", "password", "noPassword", "passkey", "totp", "codes", "noTotp", "close"] as const;
export type WindowName = (typeof WINDOWS)[number];

/** The dangerous windows of the page. */
export function useWindows(account: AccountPage): {
  open: WindowName | null;
  show: (name: WindowName) => void;
  close: () => void;
} {
  const [open, setOpen] = useOpen(WINDOWS);
  const show = (name: WindowName) => {
    setOpen(name);
    if ((account.provenUntil ?? 0) <= serverNow()) leaveForReauthentication();
  };
  return { open, show, close: () => setOpen(null) };
}
