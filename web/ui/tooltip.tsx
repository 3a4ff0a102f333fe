// A word about what the pointer or the keyboard is on, with its shortcut. Never the only place of anything needed.
import { Tooltip } from "radix-ui";
import type { ReactElement } from "react";
import { Keys } from "./keys.tsx";

/** Round the whole page, once. */
export const TipProvider = Tooltip.Provider;

/** The child must be one element that can have focus. */
export function Tip(props: { text: string | null; keys?: string | undefined; children: ReactElement }) {
  const { text, keys, children } = props;
  return (
    <Tooltip.Root>
      <Tooltip.Trigger asChild>{children}</Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Content className="tip" sideOffset={6} collisionPadding={8}>
          {text}
          {keys !== undefined && <Keys keys={keys} />}
        </Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
