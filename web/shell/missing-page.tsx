// Shown for an address that no page answers to, and by pages whose subject does not exist.
import { ButtonLink } from "../ui/button.tsx";
import { Empty } from "../ui/page-state.tsx";
import { words } from "../words/shared.ts";
import { usePageTitle } from "./page-title.ts";

export function MissingPage() {
  usePageTitle(words.pageMissing.title);
  return (
    <Empty
      title={words.pageMissing.title}
      action={<ButtonLink href="/">{words.pageMissing.action}</ButtonLink>}
    >
      <p>{words.pageMissing.text}</p>
    </Empty>
  );
}
