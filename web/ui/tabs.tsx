// Tabs on Radix: arrows move between them, the chosen one is underlined in the accent.
import { Tabs as Root } from "radix-ui";
import type { ReactNode } from "react";

export type Tab = { name: string; label: ReactNode; body: ReactNode };

/** Without `value` it keeps the choice by itself. */
export function Tabs(props: {
  tabs: readonly Tab[];
  label: string;
  value?: string;
  onChange?: (name: string) => void;
}) {
  const { tabs, label, value, onChange } = props;
  return (
    <Root.Root
      className="tabs"
      {...(value === undefined ? { defaultValue: tabs[0]?.name ?? "" } : { value })}
      {...(onChange !== undefined && { onValueChange: onChange })}
    >
      <Root.List className="tab-list" aria-label={label}>
        {tabs.map((tab) => (
          <Root.Trigger key={tab.name} value={tab.name} className="tab">
            {tab.label}
          </Root.Trigger>
        ))}
      </Root.List>
      {tabs.map((tab) => (
        <Root.Content key={tab.name} value={tab.name} className="tab-body">
          {tab.body}
        </Root.Content>
      ))}
    </Root.Root>
  );
}
