// The account, fetched once for the page. Some dialogs require re-authentication first.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Account, AccountChangeBody, AccountPage } from "../../src/contract/api/account.ts";
import { call, get, leaveForReauthentication, send } from "../api.ts";
import { serverNow } from "../live/clock.ts";
import { useOpen } from "../parts/hooks.ts";
import { toast } from "../ui/toast.tsx";

const KEY = ["account"];

export function useAccount() {
  return useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => get<AccountPage>("/account", signal),
  });
}

type ProfileChange = { body: AccountChangeBody; message: string; undo?: AccountChangeBody };

/** Changes the profile and preferences. */
export function useProfileChange() {
  const client = useQueryClient();
  const show = (account: Account) =>
    client.setQueryData<AccountPage>(KEY, (page) => page && { ...page, ...account });
  return useMutation({
    mutationFn: ({ body }: ProfileChange) => call("updateAccount", { body }),
    onSuccess: (account, { message, undo }) => {
      show(account);
      toast({
        text: message,
        ...(undo !== undefined && { undo: async () => show(await call("updateAccount", { body: undo })) }),
      });
    },
  });
}

type SecurityChange = {
  method: "POST" | "PUT" | "DELETE";
  /** Below the path of the account: "/password". */
  path: string;
  body?: unknown;
  message: string;
};

/** Changes sign-in methods and sessions. */
export function useSecurityChange() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ method, path, body }: SecurityChange) =>
      send<AccountPage>(method, `/account${path}`, body),
    onSuccess: (account, { message }) => {
      client.setQueryData(KEY, account);
      toast({ text: message });
    },
  });
}

/** Fetches the account again after a change that does not return it. */
export function useRefresh(): () => void {
  const client = useQueryClient();
  return () => void client.invalidateQueries({ queryKey: KEY });
}

const WINDOWS = [
  "email",
  "password",
  "noPassword",
  "passkey",
  "totp",
  "codes",
  "noTotp",
  "token",
  "close",
] as const;
export type WindowName = (typeof WINDOWS)[number];

/** The dialogs that require re-authentication. */
export function useWindows(account: AccountPage): {
  open: WindowName | null;
  show: (name: WindowName) => void;
  close: () => void;
} {
  const [open, setOpen] = useOpen(WINDOWS);
  const show = (name: WindowName) => {
    setOpen(name);
    if ((account.reauthenticatedUntil ?? 0) <= serverNow()) leaveForReauthentication();
  };
  return { open, show, close: () => setOpen(null) };
}
