// What is answered to a form that was filled before somebody else changed the same checks.
import type { EditConflict } from "../../../contract/web/boot.ts";
import type { Overtaken } from "../../../operations/change-check.ts";
import { findEmails } from "../../../store/accounts/accounts.ts";
import { type CheckAsk, WebRefusal } from "../route.ts";

/** Who changed them last, and, of a single check, everything that was changed, as one change. */
export async function overtaken(
  { house, account }: Pick<CheckAsk, "house" | "account">,
  { edits, version }: Overtaken,
): Promise<WebRefusal> {
  const [newest] = edits;
  const accountId = newest?.accountId ?? null;
  const emails =
    accountId === null ? new Map<number, string>() : await findEmails(house.database, [accountId]);
  const email = accountId === null ? undefined : emails.get(accountId);
  const isOne = new Set(edits.map(({ checkId }) => checkId)).size === 1;
  const told = isOne ? edits : [];
  const conflict: EditConflict = {
    by:
      accountId === null
        ? { kind: "key" }
        : accountId === account.id
          ? { kind: "you" }
          : email === undefined
            ? null
            : { kind: "person", email },
    at: newest?.at ?? version,
    // The oldest value of a field is what the form began with, the newest what it is now.
    before: Object.assign({}, ...told.map(({ detail }) => detail["before"])),
    after: Object.assign({}, ...told.toReversed().map(({ detail }) => detail["after"])),
    version,
  };
  return new WebRefusal(
    "conflict",
    isOne
      ? "Someone else changed this check while you were editing it."
      : "Someone else changed some of these checks while you were editing them.",
    null,
    conflict,
  );
}
