// All accounts of the installation, with what the operator may change of them.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { AdminAccount, AdminAccounts } from "../../../src/contract/web/admin.ts";
import { get } from "../../api/api.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { Failed, Loading } from "../../ui/page-state.tsx";
import { Ago, Day } from "../../ui/when.tsx";
import { accountsWords as words } from "../../words/admin.ts";
import { InviteDialog, LimitDialog, OperatorDialog } from "./account-dialogs.tsx";

type Over = { what: "invite" } | { what: "limit" | "operator"; account: AdminAccount } | null;

export function Accounts() {
  const [over, setOver] = useState<Over>(null);
  const query = useInfiniteQuery({
    queryKey: ["admin-accounts"],
    queryFn: ({ pageParam }) => get<AdminAccounts>("/admin/accounts", { after: pageParam }),
    initialPageParam: null as number | null,
    getNextPageParam: (page) => page.next,
  });
  if (query.isPending) return <Loading />;
  if (query.isError) return <Failed error={query.error} onRetry={() => void query.refetch()} />;
  const accounts = query.data.pages.flatMap((page) => page.accounts);
  const close = () => setOver(null);
  return (
    <>
      <p className="admin-invite">
        <Button onClick={() => setOver({ what: "invite" })}>{words.invite}</Button>
      </p>
      <Table accounts={accounts} onOver={setOver} />
      {query.hasNextPage && (
        <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          {words.more}
        </Button>
      )}
      {over?.what === "invite" && (
        <InviteDialog invitesBy={query.data.pages[0]?.invitesBy ?? "link"} onClose={close} />
      )}
      {over?.what === "limit" && <LimitDialog account={over.account} onClose={close} />}
      {over?.what === "operator" && <OperatorDialog account={over.account} onClose={close} />}
    </>
  );
}

function Table({ accounts, onOver }: { accounts: readonly AdminAccount[]; onOver: (over: Over) => void }) {
  const { columns } = words;
  return (
    <table className="table admin-stacked">
      <thead>
        <tr>
          <th scope="col">{columns.who}</th>
          <th scope="col">{columns.checks}</th>
          <th scope="col">{columns.seen}</th>
          <th scope="col">{columns.made}</th>
          <th scope="col">
            <span className="sr">{columns.act}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {accounts.map((account) => (
          <Line key={account.uuid} account={account} onOver={onOver} />
        ))}
      </tbody>
    </table>
  );
}

function Line({ account, onOver }: { account: AdminAccount; onOver: (over: Over) => void }) {
  const { email, name, isOperator, hasTotp, checkCount, checkLimit, signedInAt, createdAt } = account;
  return (
    <tr>
      <td>
        <span className="admin-who">
          <b>{name === "" ? email : name}</b>
          {isOperator && <span className="tag">{words.operator}</span>}
          {hasTotp && <span className="tag">{words.twoFactor}</span>}
        </span>
        {name !== "" && <span className="rows-about">{email}</span>}
      </td>
      <td data-label={words.columns.checks}>{words.of(checkCount, checkLimit)}</td>
      <td data-label={words.columns.seen}>{signedInAt === null ? words.never : <Ago at={signedInAt} />}</td>
      <td data-label={words.columns.made}>
        <Day at={createdAt} />
      </td>
      <td className="admin-acts">
        <Acts account={account} onOver={onOver} />
      </td>
    </tr>
  );
}

function Acts({ account, onOver }: { account: AdminAccount; onOver: (over: Over) => void }) {
  const { email, isOperator } = account;
  return (
    <Menu
      align="end"
      label={words.menu(email)}
      trigger={
        <IconButton label={words.menu(email)}>
          <Icon name="more" />
        </IconButton>
      }
    >
      <MenuItem onPick={() => onOver({ what: "limit", account })}>{words.changeLimit}</MenuItem>
      <MenuItem onPick={() => onOver({ what: "operator", account })}>
        {isOperator ? words.endOperator : words.makeOperator}
      </MenuItem>
    </Menu>
  );
}
