// Catches a page that cannot be drawn, so that the rail stays and the person can go on. React knows no other way
// than a class for this.
import { Component, type ReactNode } from "react";
import { Button } from "../ui/button.tsx";
import { Empty } from "../ui/page-state.tsx";
import { words } from "../words/shared.ts";

export class PageGuard extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: unknown): { error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <Empty
        title={words.broken.title}
        action={
          <Button kind="primary" onClick={() => location.reload()}>
            {words.broken.action}
          </Button>
        }
      >
        <p>{words.broken.text}</p>
        <pre className="broken-detail">{error.message}</pre>
      </Empty>
    );
  }
}
